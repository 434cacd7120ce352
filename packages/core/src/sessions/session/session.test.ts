import { describe, expect, it } from 'vitest'
import { type CheckpointFacts, type ContinuationFacts, continuationOf } from './session.ts'

const sealed: CheckpointFacts = { runId: 'r1', conversation: 'exact', damaged: false, loadable: true }
const checkpoints: Record<string, CheckpointFacts | null> = {
  none: null,
  exact: sealed,
  'result only': { ...sealed, conversation: 'result_only' },
  damaged: { ...sealed, damaged: true },
  unloadable: { ...sealed, loadable: false },
  'damaged and unloadable': { ...sealed, damaged: true, loadable: false },
}

/** Returns the state, both fidelities and the reason, one word each; together the complete table of facts. */
const expected = (facts: ContinuationFacts, checkpoint: string): string => {
  if (facts.archived) return 'unavailable none none session_archived'
  if (!facts.hasRun) return 'fresh none none no_prior_work'
  if (facts.leaseHeld) return 'live live live -'
  if (facts.sourceLost && facts.checkpoint?.damaged === false && facts.checkpoint.loadable) {
    return 'unavailable none none source_unavailable'
  }
  return {
    none: 'unavailable none none checkpoint_missing',
    exact: 'restorable exact portable_tree -',
    'result only': 'restorable result_only portable_tree -',
    damaged: 'unavailable none none checkpoint_missing',
    unloadable: 'unavailable none none checkpoint_incompatible',
    'damaged and unloadable': 'unavailable none none checkpoint_missing',
  }[checkpoint] as string
}

describe('the continuation of a session', () => {
  for (const archived of [false, true]) {
    for (const hasRun of [false, true]) {
      for (const leaseHeld of [false, true]) {
        for (const [name, checkpoint] of Object.entries(checkpoints)) {
          for (const sourceLost of [false, true]) {
            const facts = { archived, hasRun, leaseHeld, sourceLost, checkpoint }
            const row = expected(facts, name)
            it(`is "${row}" if the session is ${archived ? 'archived' : 'open'}, ${hasRun ? 'ran' : 'never ran'}, with ${leaseHeld ? 'a lease' : 'no lease'}, the source ${sourceLost ? 'lost' : 'there'} and checkpoint: ${name}`, () => {
              const { state, conversation, workspace, reason, canContinue, sealedByRunId } = continuationOf(facts)
              expect([state, conversation.fidelity, workspace.fidelity, reason ?? '-'].join(' ')).toBe(row)
              expect(canContinue).toBe(state !== 'unavailable')
              expect(sealedByRunId).toBe(state === 'restorable' ? 'r1' : undefined)
            })
          }
        }
      }
    }
  }
})
