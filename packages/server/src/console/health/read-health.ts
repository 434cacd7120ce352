import type { Health } from '@berth/contract'
import type { Context } from '@berth/core/context.ts'
import { HOST_AWAY_MS } from '@berth/core/runtimes/runtime-hosts.ts'
import * as sql from './health-sql.ts'

const HOUR_MS = 60 * 60_000
/** A host that was silent for so long is no longer told of. */
const FORGOTTEN_MS = 7 * 24 * HOUR_MS

/** Returns whether the service works for an organization now: the hosts of the deployment, and its own queues. */
export async function readHealth(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  organizationId: string,
): Promise<Health> {
  const now = clock.now()
  const before = (ms: number) => new Date(now.getTime() - ms)
  const [hosts, active, queued, ended, leases, backlogs, models] = await Promise.all([
    sql.listHosts(db, organizationId, before(FORGOTTEN_MS)),
    sql.countActiveRuns(db, organizationId),
    sql.listQueuedRuns(db, organizationId),
    sql.countEndedRuns(db, organizationId, before(24 * HOUR_MS)),
    sql.listLiveLeases(db, organizationId),
    sql.listBacklogs(db, organizationId),
    sql.countModelRequests(db, organizationId, before(HOUR_MS)),
  ])
  const counts = Object.fromEntries([...active, ...ended].map(({ status, count }) => [status, count]))
  const count = (status: string) => counts[status] ?? 0
  return {
    at: now.toISOString(),
    hosts: hosts.map(({ host, seen_at, rests_until, runtimes, packages_fault, leases: held }) => ({
      name: host,
      seenAt: seen_at.toISOString(),
      away: seen_at <= before(HOST_AWAY_MS),
      restsUntil: rests_until?.toISOString() ?? null,
      runtimes,
      packagesFault: packages_fault,
      leases: held,
    })),
    runs: {
      queued: count('queued'),
      dispatching: count('dispatching'),
      running: count('running'),
      awaiting: count('awaiting'),
      oldest: queued.map(({ session_id, title, queued_at }) => ({
        sessionId: session_id,
        title,
        queuedAt: queued_at.toISOString(),
      })),
    },
    ended: {
      completed: count('completed'),
      failed: count('failed'),
      cancelled: count('cancelled'),
      crashed: count('crashed'),
    },
    leases: leases.map(({ session_id, title, host, runtime, state, working, created_at, expires_at }) => ({
      sessionId: session_id,
      title,
      host,
      runtime,
      state,
      working,
      createdAt: created_at.toISOString(),
      expiresAt: expires_at.toISOString(),
    })),
    liveLeases: leases[0]?.total ?? 0,
    backlogs: backlogs.map(({ kind, waiting, oldest_at }) => ({
      kind,
      waiting,
      oldestAt: oldest_at?.toISOString() ?? null,
    })),
    models,
  }
}
