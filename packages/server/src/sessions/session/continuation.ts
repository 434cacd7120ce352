import type { Continuation } from '@berth/contract'

/** The checkpoint of the newest Run that did not crash, as far as it decides. */
export interface CheckpointFacts {
  readonly runId: string
  readonly conversation: 'exact' | 'result_only'
  /** A digest of it was found wrong. */
  readonly damaged: boolean
  /** The runtime that sealed it is still one of ours. */
  readonly loadable: boolean
}

/** What decides whether a next Turn can be admitted and what it carries on. */
export interface ContinuationFacts {
  readonly archived: boolean
  /** A Run has reached `running` at least once. */
  readonly hasRun: boolean
  readonly leaseHeld: boolean
  /** The repository is no longer to be had, and a restore needs it. */
  readonly sourceLost: boolean
  readonly checkpoint: CheckpointFacts | null
}

/**
 * `continuation` of a Session (interface 2.4). The first line that fits decides; their order is the contract's. `reason`
 * is present exactly when a next Turn will not carry earlier work on.
 */
export function continuationOf({
  archived,
  hasRun,
  leaseHeld,
  sourceLost,
  checkpoint,
}: ContinuationFacts): Continuation {
  if (archived) return unavailable('session_archived')
  if (!hasRun) return { canContinue: true, state: 'fresh', ...nothing, reason: 'no_prior_work' }
  if (leaseHeld) {
    return { canContinue: true, state: 'live', conversation: { fidelity: 'live' }, workspace: { fidelity: 'live' } }
  }
  if (checkpoint === null || checkpoint.damaged) return unavailable('checkpoint_missing')
  if (!checkpoint.loadable) return unavailable('checkpoint_incompatible')
  if (sourceLost) return unavailable('source_unavailable')
  return {
    canContinue: true,
    state: 'restorable',
    conversation: { fidelity: checkpoint.conversation },
    workspace: { fidelity: 'portable_tree' },
    sealedByRunId: checkpoint.runId,
  }
}

const nothing = { conversation: { fidelity: 'none' }, workspace: { fidelity: 'none' } } as const

function unavailable(reason: NonNullable<Continuation['reason']>): Continuation {
  return { canContinue: false, state: 'unavailable', ...nothing, reason }
}
