import { randomUUID } from 'node:crypto'
import type { Effort } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryRows } from '@berth/platform/storage/postgres/database.ts'
import { type EndedRun, recordRunEnded } from '@berth/platform/telemetry/observe.ts'
import { endReservations } from '../../accounting/gateway-request-sql.ts'
import { usageOfRun } from '../../accounting/usage-of-run.ts'
import { closeInteractions } from '../interactions/close-interactions.ts'
import { touchLease } from '../leases/lease-sql.ts'
import { appendEvents } from '../log/append.ts'
import type { EventDraft } from '../log/envelope.ts'
import { isUnauthorized } from './authority-sql.ts'
import { keepFenceToSeal, releaseFenceOf } from './fence-sql.ts'
import { endOpenCalls } from './open-calls.ts'
import { EVENT_BUDGET, type Outcome } from './run.ts'
import { findRun, finishRun, insertRun } from './run-sql.ts'
import { readRunTime } from './run-time-sql.ts'

/**
 * Ends a Run in the caller's transaction, under the Session's lock: sets the terminal status, frees the Run's own fence
 * and appends the terminal event. Nothing else ends a Run, so each has exactly one terminal event, whoever got here
 * first.
 *
 * With `seal`, the worker that holds the fence, if there is one, keeps it to seal the workspace. Unanswered
 * interactions and open tool calls are closed before the terminal event. A Run that is stopped or fails after its
 * authority ended says so, whoever noticed first: the sweeper, a worker about to begin it, or an agent that the gateway
 * refused. Messages that were to join the Run and came too late begin the next one, unless this one was stopped or its
 * work is lost. What its requests still hold in budgets counts as spent.
 * @returns false if the Run had already ended; nothing has changed then
 */
export async function endRun(
  tx: Queryable,
  key: SessionKey,
  runId: string,
  decided: Outcome,
  now: Date,
  options: { readonly seal?: boolean; readonly isStopped?: boolean } = {},
): Promise<boolean> {
  const revoked = await outcomeWithoutAuthority(tx, key, runId, decided)
  const outcome = revoked ?? decided
  const [used, time] = await Promise.all([usageOfRun(tx, { ...key, runId }), readRunTime(tx, key, runId, now)])
  // An agent that sent the gateway no request may have used models that nobody counts.
  const counted = used.requests > 0 ? used : null
  const finished = await finishRun(tx, key, runId, outcome, { used: counted, time }, now)
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
  const hasWork = finished.started_at !== null && revoked === null && (status === 'completed' || status === 'failed')
  const goesOn = hasWork && options.isStopped !== true
  const events =
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
    tokens: counted?.usage ?? null,
    queuedAt: finished.queued_at,
    endedAt: now,
  }
  tx.afterCommit?.(() => recordRunEnded(ended))
  await appendEvents(
    tx,
    key,
    [
      ...endOpenCalls(runId, finished.open_calls, false, now),
      ...events,
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
  // Last, because the costs of all organizations may wait for the budgets that it locks.
  await endReservations(tx, { ...key, runId }, now)
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

/** A Turn that its Run's agent was not given in time. */
interface MissedTurn {
  readonly id: string
  readonly runtime: string | null
  readonly model: string | null
  readonly effort: Effort | null
}

/** Marks the Turns that a Run's agent was not given as missed, and returns them in order. */
export async function missSteering(tx: Queryable, key: SessionKey, runId: string): Promise<readonly MissedTurn[]> {
  return await queryRows<MissedTurn>(tx, {
    name: 'miss-steering',
    text: `
      with missed as (
        update turns set steering = 'missed'
        where organization_id = $1 and session_id = $2 and run_id = $3 and steering = 'waiting'
        returning id, runtime, model, effort, sequence
      )
      select id, runtime, model, effort from missed order by sequence`,
    values: [key.organizationId, key.sessionId, runId],
  })
}

/**
 * Lets the first missed Turn begin a Run of its own, which the others join. The caller has ended the other Run, under the
 * Session's lock.
 *
 * @returns the Events that tell of it, which belong before the other Run's end
 */
export async function beginMissed(
  tx: Queryable,
  key: SessionKey,
  [first, ...others]: readonly [MissedTurn, ...MissedTurn[]],
  runId: string,
  now: Date,
): Promise<EventDraft[]> {
  const nextRunId = randomUUID()
  const { id: turnId, runtime, model, effort } = first
  await Promise.all([
    insertRun(tx, key, { id: nextRunId, turnId, runtime, model, effort, now }),
    moveTurns(tx, key, { runId: nextRunId, turnId, joining: others.map(({ id }) => id) }),
  ])
  return [first, ...others].map(({ id }) => missed(runId, id, nextRunId))
}

/** Returns the Event that tells of a missed Turn. */
export const missed = (runId: string, turnId: string, nextRunId?: string): EventDraft => ({
  type: 'svc.turn.steered',
  runId,
  data: { turnId, status: 'missed', ...(nextRunId !== undefined && { nextRunId }) },
})

async function moveTurns(
  tx: Queryable,
  key: SessionKey,
  { runId, turnId, joining }: { readonly runId: string; readonly turnId: string; readonly joining: readonly string[] },
): Promise<void> {
  await tx.query({
    text: `
      update turns set run_id = $3, steering = case when id = $4 then 'missed' else 'waiting' end
      where organization_id = $1 and session_id = $2 and (id = $4 or id = any($5::uuid[]))`,
    values: [key.organizationId, key.sessionId, runId, turnId, joining],
  })
}
