import type { Continuation } from '@berth/contract'

/** What decides whether a next Turn can be admitted and what it carries on. */
export interface ContinuationFacts {
  readonly archived: boolean
  /** A Run has reached `running` at least once. */
  readonly hasRun: boolean
  readonly leaseHeld: boolean
}

/**
 * `continuation` of a Session (interface 2.4). The first fact that fits decides; the order is the contract's. `reason`
 * is present exactly when a next Turn will not carry earlier work on.
 */
export function continuationOf(facts: ContinuationFacts): Continuation {
  const none = { conversation: { fidelity: 'none' }, workspace: { fidelity: 'none' } } as const
  if (facts.archived) return { canContinue: false, state: 'unavailable', ...none, reason: 'session_archived' }
  if (!facts.hasRun) return { canContinue: true, state: 'fresh', ...none, reason: 'no_prior_work' }
  if (facts.leaseHeld) {
    return { canContinue: true, state: 'live', conversation: { fidelity: 'live' }, workspace: { fidelity: 'live' } }
  }
  return { canContinue: false, state: 'unavailable', ...none, reason: 'checkpoint_missing' }
}
