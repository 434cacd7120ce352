import type { Context } from '@berth/core/context.ts'
import type { Handlers } from '@berth/core/http/routing/handler.ts'
import type { Principal } from '@berth/core/identity/guard/principal.ts'
import { awaitFiles } from '@berth/core/sessions/reviews/await-files.ts'
import { readReview } from '@berth/core/sessions/reviews/read-review.ts'
import { findReview, listReviews, type ReviewRow } from '@berth/core/sessions/reviews/review-sql.ts'
import { readSession } from '@berth/core/sessions/session/read-session.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
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

    getStoredReview: async ({ principal, params }) => ({
      status: 200,
      body: { review: await readReview(context.blobs, await storedReview(context, principal, params)) },
    }),

    getStoredReviewFile: async ({ principal, params, query: { context: lines }, signal }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      const row = await awaitFiles(context, key, await storedReview(context, principal, params), signal)
      const at = { number: Number(params.number), context: lines }
      return { status: 200, body: await readReviewFile(context.blobs, row, at) }
    },
  }
}

/** @throws ApiError 404 if the Session is not visible to the caller, or has no such revision */
async function storedReview(
  context: Context,
  principal: Principal,
  { sessionId, revision }: { readonly sessionId: string; readonly revision: string },
): Promise<ReviewRow> {
  const key = { organizationId: principal.organizationId, sessionId }
  await readSession(context, principal, key)
  const row = await findReview(context.db, key, revision)
  if (row === null) throw refusal('cloud_session_not_found')
  return row
}
