import type { SessionKey } from '../kit/session-key.ts'
import type { Queryable } from '../storage/postgres/database.ts'

/** The host would not give a Session's repository to a restore: the Session cannot continue until grants change. */
export async function loseSource(tx: Queryable, key: SessionKey, now: Date): Promise<void> {
  await tx.query('update sessions set source_lost_at = $3 where organization_id = $1 and id = $2', [
    key.organizationId,
    key.sessionId,
    now,
  ])
}

/** What an installation may use has changed: its Sessions may try again. On `sessions_source_lost`. */
export async function hopeForSources(tx: Queryable, installationId: string): Promise<void> {
  await tx.query('update sessions set source_lost_at = null where owner_id = $1 and source_lost_at is not null', [
    installationId,
  ])
}
