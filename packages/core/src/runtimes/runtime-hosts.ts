import type { Clock } from '@berth/platform/kit/clock.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { readComputeStatus, takes } from './own-hosts.ts'

/** A host announces its runtimes this often, and counts as away after four times that. */
export const ANNOUNCE_MS = 15_000
export const HOST_AWAY_MS = 4 * ANNOUNCE_MS

/** SQL condition: a host was heard of recently enough to be at work. */
const isHeard = (row: string): string => `${row}.heard_at > now() - interval '${HOST_AWAY_MS} milliseconds'`

/** SQL: when a host was last heard of, if it was never, or is known to be gone. */
export const NEVER_HEARD = "'epoch'::timestamptz"

/**
 * SQL condition: a host is gone for good. Its silence only counts if a host of the asking process was heard of all the
 * while. Otherwise the database was away or its clock was set, and no host was heard of. That a pod is gone is known from
 * its cluster (`losePodHost`), and that a machine is from an operator (`loseHost`), so nothing has to be waited for; where
 * all hosts are pods, none may be as old as the wait.
 *
 * @param lost expression of a row of `hosts`
 * @param asking expression of the ids of the asking process' hosts
 */
export const isLostHost = (lost: string, asking: string): string => `
  (${lost}.heard_at = ${NEVER_HEARD} or exists (
    select 1 from hosts asking
    where asking.id = any (${asking}) and ${isHeard('asking')}
      and greatest(${lost}.heard_at, asking.heard_since) < now() - asking.patience))`

/**
 * Announces a host that a worker holds, and those runtimes it can run that only some machines have. One that dials in has its
 * row before: without it, the host was removed, and would come back as one of everybody.
 */
export async function announceHost(
  db: Queryable,
  host: {
    readonly id: string
    /** What makes its sandboxes. */
    readonly driver: string
    readonly runtimes: readonly string[]
    /** Another host that was not heard of for this long is gone, and its sandboxes with it. */
    readonly patienceMs: number
    /** Why it installs no system packages; null if it does. */
    readonly packagesFault: string | null
  },
  now: Date,
): Promise<void> {
  await db.query({
    name: 'announce-host',
    text: `
      insert into hosts as known (id, driver, runtimes, seen_at, patience, packages_fault)
      select $1, $6, $2, $3, make_interval(secs => $4), $5
      where $6 <> 'remote' or exists (select from hosts where id = $1)
      on conflict (id) do update
      set driver = excluded.driver, runtimes = excluded.runtimes, seen_at = excluded.seen_at, patience = excluded.patience,
        packages_fault = excluded.packages_fault, refused_protocol = null,
        heard_at = now(), heard_since = case when ${isHeard('known')} then known.heard_since else now() end`,
    values: [host.id, host.runtimes, now, host.patienceMs / 1000, host.packagesFault, host.driver],
  })
}

/**
 * Returns the runtimes that only some machines have and some host that takes the organization can run.
 *
 * @throws ApiError 503 `cloud_agent_catalog_unavailable` while no worker announces any, and one may come
 */
export async function installedRuntimes(
  db: Queryable,
  clock: Clock,
  organizationId: string,
): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ runtimes: string[] }>({
    name: 'installed-runtimes',
    text: `
      select runtimes from hosts h where seen_at > $1 and ${takes('h', '$2')} and removed_at is null`,
    values: [new Date(clock.now().getTime() - HOST_AWAY_MS), organizationId],
  })
  if (rows.length > 0) return new Set(rows.flatMap(({ runtimes }) => runtimes))
  const status = await readComputeStatus(db, organizationId)
  if (status === 'shared' || status === 'ready') throw refusal('cloud_agent_catalog_unavailable')
  // Nothing that comes by itself would change this.
  return new Set()
}

/** Returns why hosts at work install no system packages, if any does not; null if all do. */
export async function findPackagesFault(db: Queryable, clock: Clock): Promise<string | null> {
  const { rows } = await db.query<{ packages_fault: string }>({
    name: 'find-packages-fault',
    text: 'select packages_fault from hosts where seen_at > $1 and packages_fault is not null limit 1',
    values: [new Date(clock.now().getTime() - HOST_AWAY_MS)],
  })
  return rows[0]?.packages_fault ?? null
}
