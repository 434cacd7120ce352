import { takes, takesNew } from '@berth/core/runtimes/own-hosts.ts'
import { isLostHost } from '@berth/core/runtimes/runtime-hosts.ts'
import { hasLostAuthority } from '@berth/core/sessions/runs/authority-sql.ts'
import type { RunRow } from '@berth/core/sessions/runs/run.ts'
import { lapsedProcesses } from '@berth/platform/processes/process-sql.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { Claim, RunClaim, Taken } from './claim.ts'

/**
 * Takes over Runs whose claims lapsed without a word from their workers: those with a past time, by the index
 * `executions_held`, and those of processes that have fallen silent, by `executions_of_holder`.
 *
 * Of two workers that find the same row, one locks it. The other skips it, or finds it changed and reads the condition
 * on `e` again, with the new holder.
 */
export async function adoptLapsed(db: Queryable, by: Claimant, limit: number): Promise<Taken<RunClaim>[]> {
  const { rows } = await db.query<ClaimRow>({
    name: 'adopt-lapsed',
    text: `
      with lapsed as materialized (
        select organization_id, session_id, null as silent, expires_at as since from executions
        where task is not null and expires_at < statement_timestamp()
        union all
        select e.organization_id, e.session_id, lapsed.id, lapsed.heard_at
        from ${lapsedProcesses('$1')}
        join executions e on e.holder = lapsed.id and e.task is not null and e.expires_at = 'infinity'
      ), taken as (
        update runs r set handovers = handovers + 1
        from (
          select r.organization_id, r.session_id, r.id, e.task from lapsed l
          join executions e on e.organization_id = l.organization_id and e.session_id = l.session_id
            and e.task is not null and (e.expires_at < statement_timestamp() or e.holder = l.silent)
          join runs r on r.organization_id = e.organization_id and r.session_id = e.session_id and r.id = e.run_id
          where (r.ended_at is null or e.task = 'seal') and ${onHeldHost} and ${placeableOnOwnHost}
          order by l.since limit $4 for update of r, e skip locked
        ) as next
        where (r.organization_id, r.session_id, r.id) = (next.organization_id, next.session_id, next.id)
        returning r.*, next.task as task
      ), fence as (${takeFence('taken', 'true')})
      ${claimed}`,
    values: [by.holder, by.now, by.hosts, limit],
  })
  return rows.map(row => toClaim(row, by))
}

/**
 * Returns true if there is something to claim that no wake-up tells of: a claim that has lapsed, or a queued Run whose
 * time has come since the last look or two. It reads indexes alone, and does not ask which host may take it.
 */
export async function isDue(db: Queryable, holder: string, withinMs: number): Promise<boolean> {
  const { rows } = await db.query<{ due: boolean }>({
    name: 'is-due',
    text: `
      select exists (select 1 from executions where task is not null and expires_at < statement_timestamp())
        or exists (
          select 1 from runs
          where status = 'queued' and due_at <= statement_timestamp()
            and due_at > statement_timestamp() - $2 * interval '1 millisecond')
        or exists (
          select 1 from ${lapsedProcesses('$1')}
          join executions e on e.holder = lapsed.id and e.task is not null and e.expires_at = 'infinity') as due`,
    values: [holder, withinMs],
  })
  return rows[0]?.due ?? false
}

/**
 * Claims requested workspaces, and takes over those of lost workers. A request stands until a worker has carried it
 * out, so one statement does both. The execution is locked as well, and passed over if somebody has it: a worker that carries
 * the request out deletes it under that lock.
 */
export async function claimWorkspaces(db: Queryable, by: Claimant, limit: number): Promise<Taken<Claim>[]> {
  const { rows } = await db.query<{
    organization_id: string
    session_id: string
    token: number
    lease_host: string | null
  }>({
    name: 'claim-workspaces',
    text: `
      with taken as (
        select open.*, 'restore' as task, null::uuid as id, 0 as attempts
        from (
          select r.organization_id, r.session_id, case when e.task is not null then e.token end as lapsed
          from workspace_requests r
          left join executions e on e.organization_id = r.organization_id and e.session_id = r.session_id
          where r.failed_at is null and ${onHeldHost} and ${placeableOnOwnHost} and (e.task is null
            or e.task = 'restore' and (e.expires_at < statement_timestamp()
              or exists (select 1 from ${lapsedProcesses('$1')} where lapsed.id = e.holder)))
          order by r.requested_at
        ) open, lateral (
          select r.organization_id, r.session_id from workspace_requests r
          where r.organization_id = open.organization_id and r.session_id = open.session_id and r.failed_at is null
          for update skip locked
        ) r
        where ${locksExecution('r', 'e.task is null or e.token = open.lapsed')} limit $4
      ), fence as (${takeFence(
        'taken',
        `executions.task is null or executions.token = (
          select lapsed from taken
          where taken.organization_id = executions.organization_id and taken.session_id = executions.session_id)`,
      )})
      select organization_id, session_id, token, ${leaseHost('fence')} as lease_host from fence`,
    values: [by.holder, by.now, by.hosts, limit],
  })
  return rows.map(({ organization_id: organizationId, session_id: sessionId, token, lease_host: leaseHost }) => ({
    organizationId,
    sessionId,
    runId: null,
    token,
    holder: by.holder,
    leaseHost,
  }))
}

export interface ClaimRow extends RunRow {
  readonly token: number
  readonly task: 'run' | 'seal'
  readonly revoked: boolean
  readonly lease_host: string | null
}

/**
 * Gives the work of a CTE its next fence token. `for update of r skip locked` keeps two workers off the same row. The
 * Run's lock comes first, as everywhere. The claim stands as long as the holder's row in `processes`.
 *
 * @param when a condition on the execution as it stands once its lock is held. The statement's snapshot is older: another
 *   worker may have taken other work of the Session since. Work without a fence token is not taken.
 */
export const takeFence = (work: string, when: string): string => `
  insert into executions (organization_id, session_id, token, task, run_id, attempt, holder, acquired_at, heartbeat_at,
    expires_at)
  select organization_id, session_id, 1, task, id, attempts, $1, $2, $2, 'infinity' from ${work}
  order by organization_id, session_id
  on conflict (organization_id, session_id) do update
  set token = executions.token + 1, task = excluded.task, run_id = excluded.run_id, attempt = excluded.attempt,
    holder = excluded.holder, acquired_at = excluded.acquired_at, heartbeat_at = excluded.heartbeat_at, expires_at = excluded.expires_at
  where ${when}
  returning organization_id, session_id, token`

/**
 * SQL condition: the Session of a row has had no execution, or this statement locks it now. One that somebody holds is passed
 * over, since calls to a far host may be made under that lock: a claim that waited for them would claim nothing else.
 */
export const locksExecution = (row: string, when: string): string => {
  const its = `select 1 from executions e where e.organization_id = ${row}.organization_id and e.session_id = ${row}.session_id`
  return `(not exists (${its}) or exists (${its} and (${when}) for no key update skip locked))`
}

/** SQL: the host of a Session's live lease; null without one. */
export const leaseHost = (row: string): string => `(
  select l.host from leases l
  where l.organization_id = ${row}.organization_id and l.session_id = ${row}.session_id and l.ended_at is null)`

/** Returns the claimed Runs, and if their authority has ended. */
export const claimed = `
  select taken.*, fence.token, ${hasLostAuthority('taken')} as revoked, ${leaseHost('taken')} as lease_host
  from taken join fence using (organization_id, session_id)`

/** SQL condition: the Session has its sandbox at a host of the claiming process, or may get one there. */
export const placeableOnOwnHost = `
  exists (
    select 1 from unnest($3::text[]) as own (id) left join hosts h on h.id = own.id
    where ${takesNew('h')} and ${takes('h', 'r.organization_id')} or own.id = ${leaseHost('r')})`

/**
 * A sandbox lives on one host, so only a worker that holds the host can continue with it. If that host is gone for good,
 * any worker may claim, and finds no sandbox. `$3` are the hosts of the claiming process.
 */
export const onHeldHost = `
  not exists (
    select 1 from leases l
    where l.organization_id = r.organization_id and l.session_id = r.session_id and l.ended_at is null and l.host <> all ($3)
      and not exists (select 1 from hosts h where h.id = l.host and ${isLostHost('h', '$3')}))`

export interface Claimant {
  readonly holder: string
  /** The hosts that its process holds. */
  readonly hosts: readonly string[]
  readonly now: Date
}

/** Returns a claimed row as a claim. */
export function toClaim(
  { token, task: _, revoked, lease_host: leaseHost, ...run }: ClaimRow,
  by: Claimant,
): Taken<RunClaim> {
  const { organization_id: organizationId, session_id: sessionId, id: runId } = run
  return { organizationId, sessionId, runId, run, revoked, token, holder: by.holder, leaseHost }
}
