import type { Context } from '../../context.ts'
import type { Handlers } from '../../http/routing/handler.ts'
import { readReview, storedReview } from './read-review.ts'
import { requestReview } from './request-review.ts'

/** Serves reviews over HTTP. */
export function reviewHandlers(context: Context): Pick<Handlers, 'reviewRepository'> {
  return {
    reviewRepository: async ({ principal, params, query: { revision }, signal }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      const review =
        revision === undefined
          ? await requestReview(context, principal, key, signal)
          : await readReview(context, key, await storedReview(context, principal, key, revision))
      return { status: 200, body: { review } }
    },
  }
}
