import type { Queryable } from '../storage/database.ts'

/** When the oldest of a host's live leases was begun; null where there is none; on `leases_of_host`. */
export async function findOldestLease(db: Queryable, host: string): Promise<Date | null> {
  const { rows } = await db.query<{ oldest: Date | null }>({
    name: 'find-oldest-lease',
    text: 'select min(created_at) as oldest from leases where host = $1 and ended_at is null',
    values: [host],
  })
  return rows[0]?.oldest ?? null
}
