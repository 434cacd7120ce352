import type { Clock } from '../kit/clock.ts'
import { refusal } from '../kit/refusal.ts'
import type { Queryable } from '../storage/postgres/database.ts'

/** A host announces its runtimes this often, and counts as away after four times that. */
export const ANNOUNCE_MS = 15_000
export const HOST_AWAY_MS = 4 * ANNOUNCE_MS

/** SQL condition: a host was heard of recently enough to be at work. */
const isHeard = (row: string): string => `${row}.heard_at > now() - interval '${HOST_AWAY_MS} milliseconds'`

/**
 * SQL condition: a host is gone for good. Its silence only counts if the asking host was heard of all the while.
 * Otherwise the database was away or its clock was set, and no host was heard of.
 *
 * @param lost expression of a row of `runtime_hosts`
 * @param asking expression of the name of the asking host
 */
export const isLostHost = (lost: string, asking: string): string => `
  exists (
    select 1 from runtime_hosts asking
    where asking.host = ${asking} and ${isHeard('asking')}
      and greatest(${lost}.heard_at, asking.heard_since) < now() - asking.patience)`

/** Announces a worker's host, and those runtimes it can run that only some machines have. */
export async function announceHost(
  db: Queryable,
  host: {
    readonly name: string
    readonly runtimes: readonly string[]
    /** Another host that was not heard of for this long is gone, and its sandboxes with it. */
    readonly patienceMs: number
  },
  now: Date,
): Promise<void> {
  await db.query({
    name: 'announce-host',
    text: `
      insert into runtime_hosts as known (host, runtimes, seen_at, patience)
      values ($1, $2, $3, make_interval(secs => $4))
      on conflict (host) do update
      set runtimes = excluded.runtimes, seen_at = excluded.seen_at, patience = excluded.patience,
        heard_at = now(), heard_since = case when ${isHeard('known')} then known.heard_since else now() end`,
    values: [host.name, host.runtimes, now, host.patienceMs / 1000],
  })
}

/**
 * Returns the runtimes that only some machines have and some host can run.
 *
 * @throws ApiError 503 `cloud_agent_catalog_unavailable` while no worker announces any
 */
export async function installedRuntimes(db: Queryable, clock: Clock): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ runtimes: string[] }>({
    name: 'installed-runtimes',
    text: 'select runtimes from runtime_hosts where seen_at > $1',
    values: [new Date(clock.now().getTime() - HOST_AWAY_MS)],
  })
  if (rows.length === 0) throw refusal('cloud_agent_catalog_unavailable')
  return new Set(rows.flatMap(({ runtimes }) => runtimes))
}
