import { HOST_AWAY_MS, isLostHost } from '../../runtimes/runtime-hosts.ts'
import { hasLostAuthority } from '../../sessions/runs/authority-sql.ts'
import type { RunRow } from '../../sessions/runs/run.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import type { Claim, RunClaim } from './claim.ts'

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
