import type { Context } from '../../context.ts'
import type { Handlers } from '../../http/routing/handler.ts'
import { requestReview } from './request-review.ts'

/** Reviews over HTTP (interface 4.9). */
export function reviewHandlers(context: Context): Pick<Handlers, 'reviewRepository'> {
  return {
    reviewRepository: async ({ principal, params, signal }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      return { status: 200, body: { review: await requestReview(context, principal, key, signal) } }
    },
  }
}
