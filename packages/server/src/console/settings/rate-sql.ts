import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** Returns the rate that an operator gave an organization; null if the deployment's holds. */
export async function findOrganizationRate(
  db: Queryable,
  organizationId: string,
): Promise<{ readonly burst: number; readonly perMinute: number; readonly own: true } | null> {
  const { rows } = await db.query<{ rate_burst: number | null; rate_per_minute: number | null }>({
    name: 'find-organization-rate',
    text: 'select rate_burst, rate_per_minute from organizations where id = $1',
    values: [organizationId],
  })
  const { rate_burst: burst = null, rate_per_minute: perMinute = null } = rows[0] ?? {}
  return burst === null || perMinute === null ? null : { burst, perMinute, own: true }
}
