import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { movedIn } from '@berth/platform/storage/postgres/moved-in.ts'

/**
 * Marks a Session's repository as lost, after the host refused it to a restore: the Session cannot continue until
 * grants change.
 */
export async function loseSource(tx: Queryable, key: SessionKey, now: Date): Promise<void> {
  await tx.query(`update sessions set source_lost_at = $3, ${movedIn} where organization_id = $1 and id = $2`, [
    key.organizationId,
    key.sessionId,
    now,
  ])
}

/**
 * Lets an installation's Sessions try their lost repositories again, after its grants changed. On
 * `sessions_source_lost`.
 */
export async function retryLostSources(tx: Queryable, installationId: string): Promise<void> {
  await tx.query(
    `update sessions set source_lost_at = null, ${movedIn} where owner_id = $1 and source_lost_at is not null`,
    [installationId],
  )
}
