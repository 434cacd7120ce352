import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { GrantRow } from './grant.ts'
import { findGrant, type Grantee } from './grant-sql.ts'

/** Most replacements followed in a row, which also ends a ring of them. */
const MAX_REPLACEMENTS = 20

/**
 * Returns the grant that stands for another today: itself, or the last of its replacements. Null if that one was
 * revoked.
 */
export async function findActiveGrant(db: Queryable, grantee: Grantee, id: string): Promise<GrantRow | null> {
  let next = id
  for (let followed = 0; followed <= MAX_REPLACEMENTS; followed++) {
    const grant = await findGrant(db, grantee, next)
    if (grant === null || grant.replaced_by === null) return grant?.revoked_at === null ? grant : null
    next = grant.replaced_by
  }
  return null
}
