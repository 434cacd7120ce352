import { usageOfRun } from '../../gateway/accounting/usage-of-run.ts'
import type { SessionKey } from '../../kit/session-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import { closeInteractions } from '../interactions/close-interactions.ts'
import { extendLease } from '../leases/extend-lease.ts'
import { appendEvents } from '../log/append.ts'
import type { EventDraft } from '../log/envelope.ts'
import { isUnauthorized } from './authority-sql.ts'
import { keepFenceToSeal, releaseFence, releaseFenceOf } from './fence-sql.ts'
import { endOpenCalls } from './open-calls.ts'
import { EVENT_BUDGET, type Outcome } from './run.ts'
import { findRun, finishRun } from './run-sql.ts'

/** Takes the Session's execution out of whose hands it is. The caller holds the Session's lock. */
export async function freeExecution(tx: Queryable, key: SessionKey): Promise<void> {
  await releaseFence(tx, key)
}

/**
 * Ends a Run: terminal status, its own fence freed and terminal event in the caller's transaction, under the Session's lock.
 * It is the only way to end one, so there is exactly one terminal event for each Run, whoever got here first.
 * With `seal` the worker that holds the fence, if there is one, keeps it, to seal what the Run left (completions, Ending).
 * What people were asked and have not answered is closed, ahead of the terminal event, and so are its tool calls.
 * A Run that was stopped or has failed after its authority ended says so, whoever noticed first: the sweeper, a worker that
 * was to begin it, or an agent that the gateway let down.
 * @returns false where the Run had already ended; nothing was changed then.
 */
export async function endRun(
  tx: Queryable,
  key: SessionKey,
  runId: string,
  decided: Outcome,
  now: Date,
  options: { readonly seal?: boolean } = {},
): Promise<boolean> {
  const revoked = await outcomeWithoutAuthority(tx, key, runId, decided)
  const outcome = revoked ?? decided
  const used = await usageOfRun(tx, { ...key, runId })
  // An agent that asked the gateway for nothing may have used what nobody counts.
  const counted = used.requests > 0 ? used : null
  const finished = await finishRun(tx, key, runId, outcome, counted, now)
  if (finished === null) return false
  await Promise.all([
    options.seal === true ? keepFenceToSeal(tx, key, runId) : releaseFenceOf(tx, key, runId),
    extendLease(tx, key, now),
    closeInteractions(tx, key, revoked === null ? closingOf(outcome) : 'authority_revoked', now),
  ])
  const { status, stopReason, errorCode, turns } = outcome
  await appendEvents(
    tx,
    key,
    [
      ...endOpenCalls(runId, finished.open_calls, false, now),
      ...truncation(runId, finished.dropped_events),
      {
        type: `svc.run.${status}`,
        runId,
        data: {
          status,
          ...(stopReason !== undefined && { stopReason }),
          ...(errorCode !== undefined && { errorCode }),
          ...(counted !== null && { costUsd: counted.costUsd, costComplete: counted.costComplete }),
          ...(turns !== undefined && { turns }),
        },
      },
    ],
    now,
  )
  return true
}

/** Tells readers that the log of the Run is not whole: its agent had more to say than the budget of Events holds. */
function truncation(runId: string, droppedEvents: number): EventDraft[] {
  if (droppedEvents === 0) return []
  const data = { droppedEvents, reason: EVENT_BUDGET }
  return [{ type: 'svc.timeline.truncated', runId, visibility: 'transcript', data }]
}

const closingOf = ({ status }: Outcome) => (status === 'cancelled' ? 'run_cancelled' : 'run_ended')

/** What a Run ends with because its authority has ended; null where that had nothing to do with it. */
async function outcomeWithoutAuthority(
  tx: Queryable,
  key: SessionKey,
  runId: string,
  decided: Outcome,
): Promise<Outcome | null> {
  const stopped = decided.status === 'cancelled' || decided.status === 'failed'
  if (!stopped || !(await isUnauthorized(tx, key, runId))) return null
  const run = await findRun(tx, key, runId)
  const errorCode = run?.started_at === null ? 'authority_revoked_dispatch' : 'authority_revoked'
  return { ...decided, status: 'failed', stopReason: 'error', errorCode }
}
