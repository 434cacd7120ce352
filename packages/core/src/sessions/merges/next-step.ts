import type { MergeError } from '@berth/contract'
import type { HostPull } from '../../git-hosts/git-host.ts'

/** The next step of a Merge, by the host's state of its pull request. */
export type MergeStep =
  | { readonly kind: 'merge' }
  | { readonly kind: 'succeeded'; readonly commit: string }
  | { readonly kind: 'failed'; readonly code: MergeError }
  /** The host is still undecided. */
  | { readonly kind: 'poll_again' }
  /** Not ready; the Merge waits if its mode says so. */
  | { readonly kind: 'not_ready' }

/** Decides the next step of a Merge; only a pull request at exactly the expected head counts. */
export function nextStep(pull: HostPull, expectedHead: string): MergeStep {
  if (pull.headOid !== expectedHead) return { kind: 'failed', code: 'head_moved' }
  if (pull.state === 'merged') {
    // If the host does not name the merge commit, the head is the one commit known to be in.
    return { kind: 'succeeded', commit: pull.mergeCommitOid ?? expectedHead }
  }
  if (pull.state === 'closed') return { kind: 'failed', code: 'pull_request_closed' }
  if (pull.mergeable === 'yes') return { kind: 'merge' }
  return { kind: pull.mergeable === 'unknown' ? 'poll_again' : 'not_ready' }
}
