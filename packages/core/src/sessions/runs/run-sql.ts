import type { Effort } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryAny, queryOne, queryRow } from '@berth/platform/storage/postgres/database.ts'
import { movedIn } from '@berth/platform/storage/postgres/moved-in.ts'
import type { RunUsage } from '../../accounting/usage-of-run.ts'
import type { OpenCall } from './open-calls.ts'
import type { Outcome, RunRow } from './run.ts'
import type { RunTime } from './run-time-sql.ts'

export async function findRun(db: Queryable, key: SessionKey, runId: string): Promise<RunRow | null> {
  return await queryRow<RunRow>(db, {
    name: 'find-run',
    text: 'select * from runs where organization_id = $1 and session_id = $2 and id = $3',
    values: [key.organizationId, key.sessionId, runId],
  })
}

/**
 * Reads a Run and keeps it from being claimed or ended until the transaction ends. Callers always take the Session's
 * lock first. Claiming takes the Run's lock alone, so the two cannot wait for each other.
 */
export async function lockRun(tx: Queryable, key: SessionKey, runId: string): Promise<RunRow | null> {
  return await queryRow<RunRow>(tx, {
    name: 'lock-run',
    text: 'select * from runs where organization_id = $1 and session_id = $2 and id = $3 for update',
    values: [key.organizationId, key.sessionId, runId],
  })
}

/**
 * Inserts a queued Run, under the Session's lock. Anybody may claim it once the caller commits, even if the clock of this
 * process is ahead of others.
 */
export async function insertRun(
  tx: Queryable,
  key: SessionKey,
  run: { id: string; turnId: string; runtime: string | null; model: string | null; effort: Effort | null; now: Date },
): Promise<RunRow> {
  return await queryOne<RunRow>(tx, {
    name: 'insert-run',
    text: `
      insert into runs (organization_id, session_id, id, turn_id, status, runtime, model, effort, queued_at, due_at)
      values ($1, $2, $3, $4, 'queued', $5, $6, $8, $7, least($7, statement_timestamp())) returning *`,
    values: [key.organizationId, key.sessionId, run.id, run.turnId, run.runtime, run.model, run.now, run.effort],
  })
}

export async function requestCancel(tx: Queryable, key: SessionKey, runId: string, now: Date): Promise<void> {
  await tx.query({
    text: `
      update runs set cancel_requested_at = coalesce(cancel_requested_at, $4)
      where organization_id = $1 and session_id = $2 and id = $3 and ended_at is null`,
    values: [key.organizationId, key.sessionId, runId, now],
  })
}

/** The part of a Run's row that its end needs. */
export type FinishedRun = Pick<
  RunRow,
  'open_calls' | 'dropped_events' | 'runtime' | 'model' | 'attempts' | 'queued_at' | 'started_at'
>

/**
 * Sets a Run's terminal status and, if it has a summary or Artifacts, its result. The statement finds its Artifacts
 * among the Session's, on `artifacts_in_order`.
 * @returns the open tool calls and the count of dropped Events; null if the Run had already ended
 */
export async function finishRun(
  tx: Queryable,
  key: SessionKey,
  runId: string,
  outcome: Outcome,
  { used, time }: { readonly used: RunUsage | null; readonly time: RunTime | null },
  now: Date,
): Promise<FinishedRun | null> {
  return await queryRow<FinishedRun>(tx, {
    name: 'finish-run',
    text: `
      with kept as (
        select coalesce(jsonb_agg(id order by position), '[]') as ids from artifacts
        where organization_id = $1 and session_id = $2 and run_id = $3
      )
      update runs set status = $4, stop_reason = $5, error_code = $6, ended_at = $8, turns = $9,
        cost_usd = $10, cost_complete = $11, usage = $12, output = $13, time = $14,
        result = case when $7::text is not null or kept.ids <> '[]'
          then jsonb_strip_nulls(jsonb_build_object('summary', $7::text)) || jsonb_build_object('artifactIds', kept.ids) end,
        awaiting_since = null,
        cancel_requested_at = case when $4 = 'cancelled' then coalesce(cancel_requested_at, $8) else cancel_requested_at end
      from kept
      where organization_id = $1 and session_id = $2 and id = $3 and ended_at is null
      returning open_calls, dropped_events, runtime, model, attempts, queued_at, started_at`,
    values: [
      key.organizationId,
      key.sessionId,
      runId,
      outcome.status,
      outcome.stopReason ?? null,
      outcome.errorCode ?? null,
      outcome.summary ?? null,
      now,
      outcome.turns ?? null,
      used?.costUsd ?? null,
      used?.costComplete ?? null,
      used?.usage ?? null,
      outcome.output ?? null,
      time,
    ],
  })
}

/** Removes the open tool calls from a Run and returns them. */
export async function takeOpenCalls(tx: Queryable, key: SessionKey, runId: string): Promise<readonly OpenCall[]> {
  const { rows } = await tx.query<{ open_calls: OpenCall[] }>({
    text: `
      with open as (
        select open_calls from runs where organization_id = $1 and session_id = $2 and id = $3 for update
      )
      update runs set open_calls = '[]' from open
      where organization_id = $1 and session_id = $2 and id = $3 returning open.open_calls`,
    values: [key.organizationId, key.sessionId, runId],
  })
  return rows[0]?.open_calls ?? []
}

/** An attempt whose agent never began, which counts as none. */
export interface Unbegun {
  /** Times that the Run has lost its worker or its host on this attempt; each attempt that counts begins at 0. */
  readonly handovers: number
}

/**
 * Requeues the Run of a lost attempt, claimable after a pause. The Run counts as not begun: if it ends before it begins
 * again, it has left no work and the checkpoint before it stands.
 */
export async function requeueRun(
  tx: Queryable,
  key: SessionKey,
  runId: string,
  { now, pauseMs, unbegun }: { readonly now: Date; readonly pauseMs: number; readonly unbegun?: Unbegun | undefined },
): Promise<void> {
  await tx.query({
    text: `
      update runs set status = 'queued', started_at = null, awaiting_since = null, awaited_ms = 0,
        attempts = attempts - $6, handovers = $7,
        due_at = least($4, statement_timestamp()) + $5 * interval '1 millisecond'
      where organization_id = $1 and session_id = $2 and id = $3 and ended_at is null`,
    values: [key.organizationId, key.sessionId, runId, now, pauseMs, unbegun ? 1 : 0, unbegun?.handovers ?? 0],
  })
}

/** Adds to an ended Run's time that its work was sealed until now: the Session's next Run waits for that. */
export async function recordSealTime(tx: Queryable, key: SessionKey, runId: string, now: Date): Promise<void> {
  await tx.query({
    text: `
      update runs set time = time || jsonb_build_object('sealMs',
        greatest(0, round(1000 * extract(epoch from $4::timestamptz - ended_at)))::bigint)
      where organization_id = $1 and session_id = $2 and id = $3`,
    values: [key.organizationId, key.sessionId, runId, now],
  })
}

/** Returns true if another Run has begun since the Session began, or was reset: its work is lost with the sandbox. */
export async function hasEarlierWork(db: Queryable, key: SessionKey, runId: string | null): Promise<boolean> {
  return await queryAny(db, {
    text: `
      select 1 from sessions s
      join turns t on t.organization_id = s.organization_id and t.session_id = s.id and t.sequence >= s.fresh_from_turn
      join runs r on r.organization_id = t.organization_id and r.session_id = t.session_id and r.id = t.run_id
      where s.organization_id = $1 and s.id = $2 and r.id is distinct from $3 and r.started_at is not null limit 1`,
    values: [key.organizationId, key.sessionId, runId],
  })
}

/** Marks the attempt as begun in a sandbox. */
export async function markRunning(tx: Queryable, key: SessionKey, runId: string, now: Date): Promise<void> {
  await tx.query({
    name: 'mark-running',
    text: `
      with run as (
        update runs set status = 'running', started_at = coalesce(started_at, $4)
        where organization_id = $1 and session_id = $2 and id = $3 and ended_at is null
      )
      update sessions set first_run_started_at = coalesce(first_run_started_at, $4), ${movedIn}
      where organization_id = $1 and id = $2`,
    values: [key.organizationId, key.sessionId, runId, now],
  })
}

export async function markAwaiting(tx: Queryable, key: SessionKey, runId: string, now: Date): Promise<void> {
  await tx.query({
    text: `
      update runs set status = 'awaiting', awaiting_since = $4
      where organization_id = $1 and session_id = $2 and id = $3 and status = 'running'`,
    values: [key.organizationId, key.sessionId, runId, now],
  })
}

/** Adds time that is no part of a Run's own, if the Run has begun. */
export async function addForeignTime(tx: Queryable, key: SessionKey, runId: string, ms: number): Promise<void> {
  await tx.query({
    text: `
      update runs set awaited_ms = awaited_ms + $4
      where organization_id = $1 and session_id = $2 and id = $3 and started_at is not null and ended_at is null`,
    values: [key.organizationId, key.sessionId, runId, ms],
  })
}

/** Resumes a Run and adds the wait to `awaited_ms`, since it is not part of the Run's own time. */
export async function markResumed(tx: Queryable, key: SessionKey, runId: string, now: Date): Promise<Date | null> {
  const { rows } = await tx.query<{ since: Date }>({
    text: `
      with before as (
        select organization_id, session_id, id, awaiting_since from runs
        where organization_id = $1 and session_id = $2 and id = $3 and status = 'awaiting'
      )
      update runs set status = 'running', awaiting_since = null,
        awaited_ms = awaited_ms + greatest(0, (extract(epoch from $4::timestamptz - before.awaiting_since) * 1000)::bigint)
      from before
      where runs.organization_id = before.organization_id and runs.session_id = before.session_id
        and runs.id = before.id and runs.status = 'awaiting'
      returning before.awaiting_since as since`,
    values: [key.organizationId, key.sessionId, runId, now],
  })
  return rows[0]?.since ?? null
}
