import type { SessionKey } from '../../kit/session-key.ts'
import { HOST_AWAY_MS, isLostHost } from '../../runtimes/runtime-hosts.ts'
import { hasLostAuthority } from '../../sessions/runs/authority-sql.ts'
import type { RunRow } from '../../sessions/runs/run.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import type { Reading } from '../agent/agent-conversation.ts'
import type { LastAnswer } from '../agent/transcript.ts'
import type { Spent } from './spent-events.ts'

/** This worker's hold on the execution of a Session, proven by its token. */
export interface Claim extends SessionKey {
  readonly token: number
  readonly holder: string
  /** The Run that is executed or sealed; null while only a workspace is restored. */
  readonly runId: string | null
}

/** A claim of a Run. */
export interface RunClaim extends Claim {
  readonly runId: string
  readonly run: RunRow
  /** True if the Run's authority ended before the claim. */
  readonly revoked: boolean
}

/** The purpose of an execution: a Run, the sealing of an ended Run, or the restore of a workspace. */
export type Task = 'run' | 'seal' | 'restore'

interface ClaimRow extends RunRow {
  readonly token: number
  readonly task: 'run' | 'seal'
  readonly revoked: boolean
}

/**
 * Gives the claimed Runs their next fence token. `for update of r skip locked` keeps two workers off the same row. The
 * Run's lock comes first, as everywhere.
 */
const takeFence = `
  insert into executions (organization_id, session_id, token, task, run_id, attempt, holder, acquired_at, heartbeat_at,
    expires_at)
  select organization_id, session_id, 1, task, id, attempts, $1, $2, $2, $3 from taken
  on conflict (organization_id, session_id) do update
  set token = executions.token + 1, task = excluded.task, run_id = excluded.run_id, attempt = excluded.attempt,
    holder = excluded.holder, acquired_at = excluded.acquired_at, heartbeat_at = excluded.heartbeat_at, expires_at = excluded.expires_at
  returning organization_id, session_id, token`

/** Returns the claimed Runs, and if their authority has ended. */
const claimed = `
  select taken.*, fence.token, ${hasLostAuthority('taken')} as revoked
  from taken join fence using (organization_id, session_id)`

/**
 * A sandbox lives on one host, so only a worker there can continue with it. If that host is gone for good, any worker
 * may claim, and finds no sandbox.
 */
const onThisHost = `
  not exists (
    select 1 from leases l
    where l.organization_id = r.organization_id and l.session_id = r.session_id and l.ended_at is null and l.host <> $4
      and not exists (select 1 from runtime_hosts h where h.host = l.host and ${isLostHost('h', '$4')}))`

/** Leaves a Run of a runtime that this host lacks to a host that has it, while there is one. */
const runnableHere = `
  (r.runtime is null
    or not exists (
      select 1 from runtime_hosts h
      where r.runtime = any (h.runtimes) and h.host <> $4 and h.seen_at > $6)
    or exists (select 1 from runtime_hosts h where r.runtime = any (h.runtimes) and h.host = $4))`

export interface Claimant {
  readonly holder: string
  readonly host: string
  readonly now: Date
  readonly expiresAt: Date
}

/** Claims queued Runs, oldest first, by the index `runs_queued`. */
export async function claimQueued(db: Queryable, by: Claimant, limit: number): Promise<RunClaim[]> {
  const { rows } = await db.query<ClaimRow>({
    name: 'claim-queued',
    text: `
      with taken as (
        update runs r set status = 'dispatching', attempts = attempts + 1, handovers = 0
        from (
          select r.organization_id, r.session_id, r.id from runs r
          where r.status = 'queued' and r.claimable_at <= $2 and ${onThisHost} and ${runnableHere} and not exists (
            select 1 from executions e
            where e.organization_id = r.organization_id and e.session_id = r.session_id and e.task is not null)
          order by r.claimable_at limit $5 for update of r skip locked
        ) as next
        where (r.organization_id, r.session_id, r.id) = (next.organization_id, next.session_id, next.id)
        returning r.*, 'run' as task
      ), fence as (${takeFence})
      ${claimed}`,
    values: [by.holder, by.now, by.expiresAt, by.host, limit, new Date(by.now.getTime() - HOST_AWAY_MS)],
  })
  return rows.map(row => toClaim(row, by))
}

/** Takes over Runs whose claims lapsed without a word from their workers, by the index `executions_held`. */
export async function adoptLapsed(db: Queryable, by: Claimant, limit: number): Promise<RunClaim[]> {
  const { rows } = await db.query<ClaimRow>({
    name: 'adopt-lapsed',
    text: `
      with taken as (
        update runs r set handovers = handovers + 1
        from (
          select r.organization_id, r.session_id, r.id, e.task from executions e
          join runs r on r.organization_id = e.organization_id and r.session_id = e.session_id and r.id = e.run_id
          where e.task is not null and e.expires_at < $2 and (r.ended_at is null or e.task = 'seal') and ${onThisHost}
          order by e.expires_at limit $5 for update of r, e skip locked
        ) as next
        where (r.organization_id, r.session_id, r.id) = (next.organization_id, next.session_id, next.id)
        returning r.*, next.task as task
      ), fence as (${takeFence})
      ${claimed}`,
    values: [by.holder, by.now, by.expiresAt, by.host, limit],
  })
  return rows.map(row => toClaim(row, by))
}

function toClaim({ token, task: _, revoked, ...run }: ClaimRow, by: Claimant): RunClaim {
  const { organization_id: organizationId, session_id: sessionId, id: runId } = run
  return { organizationId, sessionId, runId, run, revoked, token, holder: by.holder }
}

/**
 * Claims requested workspaces, and takes over those of lost workers. A request stands until a worker has carried it
 * out, so one statement does both.
 */
export async function claimWorkspaces(db: Queryable, by: Claimant, limit: number): Promise<Claim[]> {
  const { rows } = await db.query<{ organization_id: string; session_id: string; token: number }>({
    name: 'claim-workspaces',
    text: `
      with taken as (
        select r.organization_id, r.session_id, 'restore' as task, null::uuid as id, 0 as attempts
        from workspace_requests r
        where r.failed_at is null and ${onThisHost} and not exists (
          select 1 from executions e
          where e.organization_id = r.organization_id and e.session_id = r.session_id and e.task is not null
            and not (e.task = 'restore' and e.expires_at < $2))
        order by r.requested_at limit $5 for update of r skip locked
      ), fence as (${takeFence})
      select organization_id, session_id, token from fence`,
    values: [by.holder, by.now, by.expiresAt, by.host, limit],
  })
  return rows.map(({ organization_id: organizationId, session_id: sessionId, token }) => ({
    organizationId,
    sessionId,
    runId: null,
    token,
    holder: by.holder,
  }))
}

/** Returns the current task of a claim; null if the claim no longer stands. */
export async function taskOf(db: Queryable, claim: Claim): Promise<Task | null> {
  const { rows } = await db.query<{ task: Task | null }>({
    name: 'task-of',
    text: 'select task from executions where organization_id = $1 and session_id = $2 and token = $3 and holder = $4',
    values: [claim.organizationId, claim.sessionId, claim.token, claim.holder],
  })
  return rows[0]?.task ?? null
}

/** Counts a worker's Runs that wait for people, by the rows' keys. The worker asks only when it is at its limit. */
export async function countAwaiting(db: Queryable, claims: readonly Claim[]): Promise<number> {
  const { rows } = await db.query<{ count: number }>({
    name: 'count-awaiting',
    text: `
      select count(*)::integer as count
      from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::text[]) as c (organization_id, session_id, token, holder)
      join executions e on e.organization_id = c.organization_id and e.session_id = c.session_id and e.token = c.token
        and e.holder = c.holder and e.task = 'run'
      join runs r on r.organization_id = e.organization_id and r.session_id = e.session_id and r.id = e.run_id
      where r.status = 'awaiting'`,
    values: columnsOf(claims),
  })
  return rows[0]?.count ?? 0
}

/**
 * Renews a worker's claims by the rows' keys. Every renewal would write an index on the holder; without such an index,
 * each worker would read the rows of all others.
 *
 * @returns the Sessions it still holds, as `organization/session`
 */
export async function renewClaims(
  db: Queryable,
  claims: readonly Claim[],
  now: Date,
  expiresAt: Date,
): Promise<Set<string>> {
  const { rows } = await db.query<{ organization_id: string; session_id: string }>({
    name: 'renew-claims',
    text: `
      update executions e set heartbeat_at = $5, expires_at = $6
      from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::text[]) as c (organization_id, session_id, token, holder)
      where e.organization_id = c.organization_id and e.session_id = c.session_id and e.token = c.token
        and e.holder = c.holder and e.task is not null
      returning e.organization_id, e.session_id`,
    values: [...columnsOf(claims), now, expiresAt],
  })
  return new Set(rows.map(row => `${row.organization_id}/${row.session_id}`))
}

const columnsOf = (claims: readonly Claim[]) => [
  claims.map(({ organizationId }) => organizationId),
  claims.map(({ sessionId }) => sessionId),
  claims.map(({ token }) => token),
  claims.map(({ holder }) => holder),
]

/** Lapses the claims of a worker that stops, so that others take over at once. */
export async function lapseClaims(db: Queryable, holder: string, now: Date): Promise<void> {
  await db.query({
    text: `
      update executions set expires_at = $2::timestamptz - interval '1 millisecond'
      where holder = $1 and task is not null`,
    values: [holder, now],
  })
}

/** Lapses one claim that could not be worked on; its next worker counts one more handover. */
export async function lapseClaim(db: Queryable, claim: Claim, now: Date): Promise<void> {
  await db.query({
    text: `
      update executions set expires_at = $4::timestamptz - interval '1 millisecond'
      where organization_id = $1 and session_id = $2 and token = $3 and task is not null`,
    values: [claim.organizationId, claim.sessionId, claim.token, now],
  })
}

/**
 * Proves under the row's lock that the claim still stands. The calling transaction may then write; a takeover waits for
 * it. Call it after the Session's lock, if both are needed, and before the lease is written. The Run may only be
 * written afterwards under the Session's lock: transactions without that lock take the Run first.
 *
 * @returns the claim's task; null if the claim does not stand
 */
export async function holdsFence(tx: Queryable, claim: Claim, now: Date): Promise<Task | null> {
  const { rows } = await tx.query<{ task: Task }>({
    name: 'holds-fence',
    text: `
      update executions set heartbeat_at = greatest(heartbeat_at, $6)
      where organization_id = $1 and session_id = $2 and token = $3 and holder = $4 and task is not null
        and run_id is not distinct from $5
      returning task`,
    values: [claim.organizationId, claim.sessionId, claim.token, claim.holder, claim.runId, now],
  })
  return rows[0]?.task ?? null
}

/** Returns true if nobody holds the Session's execution. Nobody can take it until the transaction ends. */
export async function isUnclaimed(tx: Queryable, key: SessionKey): Promise<boolean> {
  const { rows } = await tx.query<{ task: Task | null }>({
    name: 'is-unclaimed',
    text: 'select task from executions where organization_id = $1 and session_id = $2 for update',
    values: [key.organizationId, key.sessionId],
  })
  return rows.length > 0 && rows[0]?.task === null
}

/**
 * Commits the journal's offset and the facts about the agent at that offset. If the log grew, it also charges the Run's
 * budget of Events. If tool calls began or ended, it counts the attempt's calls, which decide if the Run may be started
 * again. It also stores the open calls, for a later end of the Run without its agent.
 */
export async function saveReading(
  tx: Queryable,
  claim: Claim,
  leaseId: string,
  reading: Reading,
  spent: Spent,
): Promise<void> {
  const { facts, openCalls, dropped } = reading
  const counts = openCalls !== null || spent.events > 0 || dropped > 0
  const calls = counts
    ? [
        claim.organizationId,
        claim.sessionId,
        claim.runId,
        reading.toolCalls,
        openCalls === null ? null : JSON.stringify(openCalls),
        spent.events,
        spent.bytes,
        dropped,
      ]
    : []
  await tx.query({
    name: counts ? 'save-reading-and-run' : 'save-reading',
    text: `
      ${counts ? countOnRun : ''}
      update leases set journal_offset = $2, replay_from = $3, agent_generation = $4, agent_state = $5,
        agent_loads_sessions = $6, agent_session_id = $7, active_prompt = $8,
        recap = case when $9 then null else recap end
      where id = $1`,
    values: [
      leaseId,
      reading.offset,
      reading.replayFrom,
      facts.generation,
      facts.state,
      facts.loadsSessions,
      facts.sessionId,
      facts.activePrompt,
      reading.prompted,
      ...calls,
    ],
  })
}

const countOnRun = `
      with counted as (
        update runs set tool_calls = tool_calls + $13, open_calls = coalesce($14::jsonb, open_calls),
          event_count = event_count + $15, event_bytes = event_bytes + $16, dropped_events = dropped_events + $17
        where organization_id = $10 and session_id = $11 and id = $12
      )`

/**
 * Stores the model for the agent's next process. Call it before that process starts, so that the journal never precedes
 * the row.
 */
export async function saveAgentModel(tx: Queryable, leaseId: string, model: string | null): Promise<void> {
  await tx.query({
    name: 'save-agent-model',
    text: 'update leases set agent_model = $2 where id = $1',
    values: [leaseId, model],
  })
}

/** Resets the count of handovers, because this worker makes progress. */
export async function clearHandovers(tx: Queryable, claim: RunClaim): Promise<void> {
  await tx.query({
    text: 'update runs set handovers = 0 where organization_id = $1 and session_id = $2 and id = $3',
    values: [claim.organizationId, claim.sessionId, claim.runId],
  })
}

/**
 * Returns the assistant's last message in the log since the attempt began, by the log's primary key; null if there is
 * none. For a truncated message only the stored size is known.
 */
export async function findLastAnswer(db: Queryable, key: SessionKey, runId: string): Promise<LastAnswer | null> {
  const { rows } = await db.query<{ text: string; truncated: string | null }>({
    text: `
      select envelope::jsonb #>> '{data,text}' as text, envelope::jsonb #>> '{data,truncated}' as truncated
      from events
      where organization_id = $1 and session_id = $2 and run_id = $3 and type = 'svc.message.created'
        and envelope::jsonb #>> '{data,role}' = 'assistant'
        and sequence > (
          select coalesce(max(sequence), 0) from events
          where organization_id = $1 and session_id = $2 and run_id = $3 and type = 'svc.run.started')
      order by sequence desc limit 1`,
    values: [key.organizationId, key.sessionId, runId],
  })
  const last = rows[0]
  if (last === undefined) return null
  return last.truncated === null ? last.text : { sizeBytes: Buffer.byteLength(last.text) }
}
