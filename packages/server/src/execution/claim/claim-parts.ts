import type { SessionKey } from '../../kit/session-key.ts'
import type { FencedWork } from '../../queue/truth-sql.ts'
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

// Every claim goes by the same steps, in one statement. It locks rows of `queue`, skipping those that are locked: that keeps
// two workers off the same work. It finds them by their keys alone. With a condition on their content PostgreSQL would keep
// the lock of a row that has changed, and not say so: a writer would pass over that row, and nobody would put it right. Then
// it takes the work by its keys, if that can still be taken, and waits for whoever has it locked: the Session's execution
// before the Run, as everybody does. Last it says so in the rows of `queue`. Those whose work had gone are aligned by a
// statement of their own (queue/queue-sql.ts).

/**
 * Gives the taken work its next fence token. The claim stands as long as the holder's row in `processes`.
 * @param when a condition on the execution as it stands; without one it is taken whatever stands there
 */
export const takeFence = (when?: string): string => `
  insert into executions (organization_id, session_id, token, task, run_id, attempt, holder, acquired_at, heartbeat_at,
    expires_at)
  select organization_id, session_id, 1, task, id, attempts, $1, $2, $2, 'infinity' from taken
  order by organization_id, session_id
  on conflict (organization_id, session_id) do update
  set token = executions.token + 1, task = excluded.task, run_id = excluded.run_id, attempt = excluded.attempt,
    holder = excluded.holder, acquired_at = excluded.acquired_at, heartbeat_at = excluded.heartbeat_at, expires_at = excluded.expires_at${when === undefined ? '' : `\n  where ${when}`}
  returning organization_id, session_id, token`

/** Says in the queue that this process holds the work for which it has a fence. */
export const holdInQueue = (work: FencedWork): string => `
  update queue q set holder = $1, due_at = 'infinity'${work === 'run' ? ", at_work = taken.status in ('dispatching', 'running')" : ''}
  from fence join taken using (organization_id, session_id)
  where q.organization_id = fence.organization_id and q.session_id = fence.session_id and q.work = '${work}'
    and q.id = ${work === 'run' ? 'taken.id' : 'fence.session_id'}`

/** Sessions of the rows that a claim locked in the queue and did not get. */
export type Passed = readonly (readonly [organizationId: string, sessionId: string])[]

/** SQL expression: those Sessions. */
export const passedOver = `coalesce((
  select jsonb_agg(jsonb_build_array(p.organization_id, p.session_id)) from picked p
  where not exists (
    select from fence where fence.organization_id = p.organization_id and fence.session_id = p.session_id)), '[]')`

/** Returns the keys of those Sessions. */
export const keysOf = (passed: Passed = []): readonly SessionKey[] =>
  passed.map(([organizationId, sessionId]) => ({ organizationId, sessionId }))

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

/** True for a row with a claim, which a statement that says something else as well may be without. */
export const isClaim = (row: Partial<ClaimRow>): row is ClaimRow => typeof row.id === 'string'

/** Returns a claimed row as a claim. */
export function toClaim(
  { token, task: _, revoked, lease_host: leaseHost, ...run }: ClaimRow,
  by: Claimant,
): Taken<RunClaim> {
  const { organization_id: organizationId, session_id: sessionId, id: runId } = run
  return { organizationId, sessionId, runId, run, revoked, token, holder: by.holder, leaseHost }
}
