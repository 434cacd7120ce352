import type { Continuation } from '@berth/contract'

/** Facts about the checkpoint of the newest Run that did not crash. */
export interface CheckpointFacts {
  readonly runId: string
  readonly conversation: 'exact' | 'result_only'
  /** One of its digests did not match. */
  readonly damaged: boolean
  /** This deployment still has the runtime that sealed it. */
  readonly loadable: boolean
}

/** Facts that decide if a next Turn is admitted and which work it continues. */
export interface ContinuationFacts {
  readonly archived: boolean
  /** At least one Run has reached `running`. */
  readonly hasRun: boolean
  readonly leaseHeld: boolean
  /** The host no longer gives the repository, and a restore needs it. */
  readonly sourceLost: boolean
  readonly checkpoint: CheckpointFacts | null
}

/**
 * Returns the `continuation` of a Session. The first line that matches decides, in the order of docs/concepts.md,
 * Sessions. `reason` is present exactly when the next Turn will not continue earlier work.
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
