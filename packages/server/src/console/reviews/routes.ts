import type { Context } from '@berth/core/context.ts'
import type { Handlers } from '@berth/core/http/routing/handler.ts'
import { awaitFiles } from '@berth/core/sessions/reviews/await-files.ts'
import { readReview, storedReview } from '@berth/core/sessions/reviews/read-review.ts'
import { listReviews } from '@berth/core/sessions/reviews/review-sql.ts'
import { readSession } from '@berth/core/sessions/session/read-session.ts'
import { readReviewFile } from './read-file.ts'

const LISTED = 20

/** Serves reviews that were made before. */
export function storedReviewHandlers(
  context: Context,
): Pick<Handlers, 'listStoredReviews' | 'getStoredReview' | 'getStoredReviewFile'> {
  return {
    listStoredReviews: async ({ principal, params: { sessionId } }) => {
      const key = { organizationId: principal.organizationId, sessionId }
      await readSession(context, principal, key)
      const rows = await listReviews(context.db, key, LISTED)
      const reviews = rows.map(row => ({ revision: row.revision, createdAt: row.created_at.toISOString() }))
      return { status: 200, body: { reviews } }
    },

    getStoredReview: async ({ principal, params: { sessionId, revision } }) => {
      const key = { organizationId: principal.organizationId, sessionId }
      const row = await storedReview(context, principal, key, revision)
      return { status: 200, body: { review: await readReview(context, key, row) } }
    },

    getStoredReviewFile: async ({ principal, params, query: { context: lines }, signal }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      const row = await awaitFiles(context, key, await storedReview(context, principal, key, params.revision), signal)
      const at = { number: Number(params.number), context: lines }
      return { status: 200, body: await readReviewFile(context.blobs, row, at) }
    },
  }
}
