import type { Context } from '../../context.ts'
import type { Handlers } from '../../http/routing/handler.ts'
import { requestReview } from './request-review.ts'

/** Serves reviews over HTTP. */
export function reviewHandlers(context: Context): Pick<Handlers, 'reviewRepository'> {
  return {
    reviewRepository: async ({ principal, params, signal }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      return { status: 200, body: { review: await requestReview(context, principal, key, signal) } }
    },
  }
}
