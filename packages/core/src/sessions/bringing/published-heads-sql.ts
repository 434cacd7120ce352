import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryRows } from '@berth/platform/storage/postgres/database.ts'

/** A commit that a Session has put on a branch, and what was reviewed as it. */
export interface PublishedHead {
  readonly commit_sha: string
  readonly base_oid: string
  readonly head_tree: string
  /** Digest of the pack of what the base lacks of the tree. */
  readonly pack_sha256: string | null
}

/** Lists the newest commits that a Session has put on branches of a host, newest first. */
export async function listPublishedHeads(db: Queryable, key: SessionKey): Promise<PublishedHead[]> {
  return await queryRows<PublishedHead>(db, {
    text: `
      select p.commit_sha, r.base_oid, r.head_tree, r.pack_sha256
      from publications p join reviews r using (organization_id, session_id, revision)
      where p.organization_id = $1 and p.session_id = $2 and p.status = 'succeeded'
      order by p.created_at desc, p.id desc limit 50`,
    values: [key.organizationId, key.sessionId],
  })
}
