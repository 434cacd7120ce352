import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** Returns the title of the pull request that a Session has published, on `publications_in_order`; null if there is none. */
export async function findTitleOfPull(db: Queryable, key: SessionKey): Promise<string | null> {
  const { rows } = await db.query<{ title: string }>({
    text: `
      select title from publications
      where organization_id = $1 and session_id = $2 and result -> 'pullRequest' is not null
      order by created_at desc, id desc limit 1`,
    values: [key.organizationId, key.sessionId],
  })
  return rows[0]?.title ?? null
}

/** Returns whether the newest Publication of a Session that has succeeded is of a revision. */
export async function isPublished(db: Queryable, key: SessionKey, revision: string): Promise<boolean> {
  const { rows } = await db.query<{ revision: string }>({
    text: `
      select revision from publications
      where organization_id = $1 and session_id = $2 and status = 'succeeded'
      order by created_at desc, id desc limit 1`,
    values: [key.organizationId, key.sessionId],
  })
  return rows[0]?.revision === revision
}
