import { takes, takesNew } from '../../runtimes/own-hosts.ts'
import { isLostHost } from '../../runtimes/runtime-hosts.ts'
import { hasLostAuthority } from '../../sessions/runs/authority-sql.ts'
import type { RunRow } from '../../sessions/runs/run.ts'
import type { RunClaim, Taken } from './claim.ts'

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

/** SQL: the host of a Session's live lease; null without one. */
export const leaseHost = (row: string): string => `(
  select l.host from leases l
  where l.organization_id = ${row}.organization_id and l.session_id = ${row}.session_id and l.ended_at is null)`

/** Returns the claimed Runs, and if their authority has ended. */
export const claimed = `
  select taken.*, fence.token, ${hasLostAuthority('taken')} as revoked, ${leaseHost('taken')} as lease_host
  from taken join fence using (organization_id, session_id)`

/** SQL condition: the Session has its sandbox at a host of the claiming process, or may get one there. */
export const placeableHere = `
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
