import { isHeard } from '@berth/platform/processes/process-sql.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/**
 * Returns the URL at which a process passes connections on to the sandboxes of a host: one of the host's own machine, or the
 * one that the host has dialled. Null if no such process does.
 */
export async function findRelay(db: Queryable, host: string): Promise<string | null> {
  const { rows } = await db.query<{ relay_url: string }>({
    name: 'find-relay',
    text: `
      select p.relay_url from processes p left join hosts h on h.id = $1
      where p.relay_url is not null and ${isHeard('p')}
        and (p.host = $1 or p.id = h.connected_to)
      order by p.heard_at desc limit 1`,
    values: [host],
  })
  return rows[0]?.relay_url ?? null
}

/** Returns the host of a lease; null if there is no such lease. */
export async function findHostOfLease(db: Queryable, leaseId: string): Promise<string | null> {
  const { rows } = await db.query<{ host: string }>({
    name: 'find-host-of-lease',
    text: 'select host from leases where id = $1',
    values: [leaseId],
  })
  return rows[0]?.host ?? null
}
