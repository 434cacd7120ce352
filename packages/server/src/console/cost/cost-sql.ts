import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** Sums what the ended Runs of a Session have spent. */
export async function sumEndedRuns(
  db: Queryable,
  { organizationId, sessionId }: SessionKey,
): Promise<{ readonly usd: number; readonly complete: boolean }> {
  const { rows } = await db.query<{ usd: number; complete: boolean }>({
    name: 'sum-ended-runs',
    text: `
      select coalesce(sum(cost_usd), 0)::double precision as usd,
        coalesce(bool_and(cost_complete is distinct from false), true) as complete
      from runs where organization_id = $1 and session_id = $2 and ended_at is not null`,
    values: [organizationId, sessionId],
  })
  return rows[0] ?? { usd: 0, complete: true }
}
