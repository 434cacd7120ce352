import type { LocalReview } from '@berth/contract'
import type { LocalReviewRow } from '../../git-hosts/local/local-review-sql.ts'

/** Returns a review as the API shows it. */
export function toReview(row: LocalReviewRow): LocalReview {
  const { id, author_id, author_name, written_by, state, body, comments, head_oid, created_at } = row
  return {
    ...{ id, author: { id: author_id, name: author_name }, by: written_by, state, body, headOid: head_oid },
    ...{ comments: [...comments], createdAt: created_at.toISOString() },
  }
}
