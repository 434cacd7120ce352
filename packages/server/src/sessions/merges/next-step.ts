import type { MergeError, MergeMode } from '@berth/contract'
import type { HostPull } from '../../git-hosts/git-host.ts'

/** What to do with a Merge, by what the host says of its pull request. */
export type MergeStep =
  | { readonly kind: 'merge' }
  | { readonly kind: 'succeeded'; readonly commit: string }
  | { readonly kind: 'failed'; readonly code: MergeError }
  /** The host has not made up its mind. */
  | { readonly kind: 'look_again' }
  /** Not ready; to be waited for, where that was asked. */
  | { readonly kind: 'not_ready' }

/** Decides the next step of a Merge; nothing but a pull request at exactly the head counts. */
export function nextStep(pull: HostPull, expectedHead: string): MergeStep {
  if (pull.headOid !== expectedHead) return { kind: 'failed', code: 'head_moved' }
  if (pull.state === 'merged') {
    // A host that merged and does not say to what: the head is what is known to be in.
    return { kind: 'succeeded', commit: pull.mergeCommitOid ?? expectedHead }
  }
  if (pull.state === 'closed') return { kind: 'failed', code: 'pull_request_closed' }
  if (pull.mergeable === 'yes') return { kind: 'merge' }
  return { kind: pull.mergeable === 'unknown' ? 'look_again' : 'not_ready' }
}

/** What becomes of a Merge that the host does not take now. */
export function afterNotReady(
  mode: MergeMode,
  ageMs: number,
  maxWaitMs: number,
): { readonly kind: 'wait' } | { readonly kind: 'failed'; readonly code: MergeError } {
  if (mode === 'when_ready' && ageMs < maxWaitMs) return { kind: 'wait' }
  return { kind: 'failed', code: 'merge_not_ready' }
}
