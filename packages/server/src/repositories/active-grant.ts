import type { Queryable } from '../storage/postgres/database.ts'
import type { GrantRow } from './grant.ts'
import { findGrant, type Grantee } from './grant-sql.ts'

/** Replacements in a row that are followed; a ring of them ends there. */
const MAX_REPLACEMENTS = 20

/** The grant that stands for another today: itself, or the end of its replacements. Null where that was revoked. */
export async function findActiveGrant(db: Queryable, grantee: Grantee, id: string): Promise<GrantRow | null> {
  let next = id
  for (let followed = 0; followed <= MAX_REPLACEMENTS; followed++) {
    const grant = await findGrant(db, grantee, next)
    if (grant === null || grant.replaced_by === null) return grant?.revoked_at === null ? grant : null
    next = grant.replaced_by
  }
  return null
}
