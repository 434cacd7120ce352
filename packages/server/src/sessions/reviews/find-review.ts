import type { SessionKey } from '../../kit/session-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import { findReview, type ReviewRow } from './review-sql.ts'

export type { ReviewRow } from './review-sql.ts'

/** Returns a revision that the Session has made, or null. */
export function findRevision(db: Queryable, key: SessionKey, revision: string): Promise<ReviewRow | null> {
  return findReview(db, key, revision)
}
