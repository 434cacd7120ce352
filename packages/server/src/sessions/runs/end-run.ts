import { usageOfRun } from '../../gateway/accounting/usage-of-run.ts'
import type { SessionKey } from '../../kit/session-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import { type EndedRun, tellRunEnded } from '../../telemetry/observe.ts'
import { closeInteractions } from '../interactions/close-interactions.ts'
import { touchLease } from '../leases/lease-sql.ts'
import { appendEvents } from '../log/append.ts'
import type { EventDraft } from '../log/envelope.ts'
import { isUnauthorized } from './authority-sql.ts'
import { keepFenceToSeal, releaseFenceOf } from './fence-sql.ts'
import { beginMissed, missed, missSteering } from './missed-steering.ts'
import { endOpenCalls } from './open-calls.ts'
import { EVENT_BUDGET, type Outcome } from './run.ts'
import { findRun, finishRun } from './run-sql.ts'

/**
 * Ends a Run in the caller's transaction, under the Session's lock: sets the terminal status, frees the Run's own fence
 * and appends the terminal event. Nothing else ends a Run, so each has exactly one terminal event, whoever got here
 * first.
 *
 * With `seal`, the worker that holds the fence, if there is one, keeps it to seal the workspace. Unanswered
 * interactions and open tool calls are closed before the terminal event. A Run that is stopped or fails after its
 * authority ended says so, whoever noticed first: the sweeper, a worker about to begin it, or an agent that the gateway
 * refused. Messages that were to join the Run and came too late begin the next one, unless this one was stopped or its
 * work is lost.
 * @returns false if the Run had already ended; nothing has changed then
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
  // An agent that sent the gateway no request may have used models that nobody counts.
  const counted = used.requests > 0 ? used : null
  const finished = await finishRun(tx, key, runId, outcome, counted, now)
  if (finished === null) return false
  const [late] = await Promise.all([
    missSteering(tx, key, runId),
    options.seal === true ? keepFenceToSeal(tx, key, runId) : releaseFenceOf(tx, key, runId),
    touchLease(tx, key, now),
    closeInteractions(tx, key, revoked === null ? closingOf(outcome) : 'authority_revoked', now),
  ])
  const { status, stopReason, errorCode, turns, output } = outcome
  const [first, ...others] = late
  // A message to a Run that somebody stopped, or whose work is lost, was about that work.
  const goesOn = finished.started_at !== null && revoked === null && (status === 'completed' || status === 'failed')
  const told =
    first !== undefined && goesOn
      ? await beginMissed(tx, key, [first, ...others], runId, now)
      : late.map(({ id }) => missed(runId, id))
  const ended: EndedRun = {
    of: { ...key, runId },
    status,
    stopReason: stopReason ?? null,
    errorCode: errorCode ?? null,
    runtime: finished.runtime,
    model: finished.model,
    attempts: finished.attempts,
    queuedAt: finished.queued_at,
    endedAt: now,
  }
  tx.afterCommit?.(() => tellRunEnded(ended))
  await appendEvents(
    tx,
    key,
    [
      ...endOpenCalls(runId, finished.open_calls, false, now),
      ...told,
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
          ...(output !== undefined && { result: { output: JSON.parse(output) } }),
        },
      },
    ],
    now,
  )
  return true
}

/** Tells readers that the Run's log is incomplete: its agent caused more Events than the budget holds. */
function truncation(runId: string, droppedEvents: number): EventDraft[] {
  if (droppedEvents === 0) return []
  const data = { droppedEvents, reason: EVENT_BUDGET }
  return [{ type: 'svc.timeline.truncated', runId, visibility: 'transcript', data }]
}

const closingOf = ({ status }: Outcome) => (status === 'cancelled' ? 'run_cancelled' : 'run_ended')

/**
 * Returns the `failed` outcome of a cancelled or failed Run whose authority has ended; null for any other Run.
 */
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
