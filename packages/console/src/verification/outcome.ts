import type { Verification } from '@berth/client'

/**
 * How a revision stands to the checks of its environment.
 *
 * - `none`: nothing was verified yet.
 * - `other`: another revision was verified, and this one was not.
 * - `open`: its checks run, or wait for a sandbox.
 * - `passed`, `failed`: by the environment's newest revision.
 * - `outdated`: there is a result by an earlier revision of the environment, which does not count.
 * - `errored`, `cancelled`: its checks could not be run, or were stopped.
 */
export type CheckOutcomeKind = 'none' | 'other' | 'open' | 'passed' | 'failed' | 'outdated' | 'errored' | 'cancelled'

export interface CheckOutcome {
  readonly kind: CheckOutcomeKind
  /** The verification that says so; null if there is none. */
  readonly by: Verification | null
}

/** Returns true if a verification has not ended. */
export const isOpen = ({ completedAt }: Pick<Verification, 'completedAt'>): boolean => completedAt === undefined

/**
 * Judges a revision as the service does: the newest result by the environment's newest revision counts.
 * @param verifications newest first
 * @param environmentRevision null while it is not known; then any result counts
 */
export function outcomeOf(
  verifications: readonly Verification[],
  revision: string,
  environmentRevision: number | null,
): CheckOutcome {
  const own = verifications.filter(each => each.revision === revision)
  const [newest] = own
  if (newest === undefined) {
    const [other = null] = verifications
    return { kind: other === null ? 'none' : 'other', by: other }
  }
  const open = own.find(isOpen)
  if (open !== undefined) return { kind: 'open', by: open }
  const results = own
    .filter(({ state }) => state === 'passed' || state === 'failed')
    .toSorted((one, other) => (other.completedAt ?? '').localeCompare(one.completedAt ?? ''))
  const [result] = results.filter(
    ({ environment }) => environmentRevision === null || environment.revision === environmentRevision,
  )
  // A result that stands is not undone by a later attempt that said nothing of the change.
  if (result !== undefined) return { kind: result.state === 'passed' ? 'passed' : 'failed', by: result }
  if (newest.state === 'errored' || newest.state === 'cancelled') return { kind: newest.state, by: newest }
  return { kind: 'outdated', by: results[0] ?? newest }
}
