import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** Returns the earliest revision of an environment by which a sandbox of the Session was set up; null for none. */
export async function findFirstRevision(db: Queryable, key: SessionKey, environmentId: string): Promise<number | null> {
  const { rows } = await db.query<{ revision: number | null }>({
    name: 'find-first-environment-revision',
    text: `
      select min(environment_revision) as revision from leases
      where organization_id = $1 and session_id = $2 and environment_id = $3`,
    values: [key.organizationId, key.sessionId, environmentId],
  })
  return rows[0]?.revision ?? null
}
