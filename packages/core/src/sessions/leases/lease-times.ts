import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** Returns when the oldest and the newest of a host's live leases began, on `leases_of_host`; null if it has none. */
export async function findLeaseTimes(
  db: Queryable,
  hosts: readonly string[],
): Promise<{ oldest: Date; newest: Date } | null> {
  const { rows } = await db.query<{ oldest: Date | null; newest: Date | null }>({
    name: 'find-lease-times',
    text: `
      select min(created_at) as oldest, max(created_at) as newest from leases where host = any ($1) and ended_at is null`,
    values: [hosts],
  })
  const { oldest = null, newest = null } = rows[0] ?? {}
  return oldest === null || newest === null ? null : { oldest, newest }
}
