import type { SessionKey } from '../../kit/session-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import { findReview, listReviews, type ReviewRow } from './review-sql.ts'

export type { ReviewRow } from './review-sql.ts'

/** Returns a revision that the Session has made, or null. */
export function findRevision(db: Queryable, key: SessionKey, revision: string): Promise<ReviewRow | null> {
  return findReview(db, key, revision)
}

/** Returns the newest revisions that the Session has made. */
export function listRevisions(
  db: Queryable,
  key: SessionKey,
  limit: number,
): Promise<readonly Pick<ReviewRow, 'revision' | 'created_at'>[]> {
  return listReviews(db, key, limit)
}
