import type { Context } from '../../context.ts'
import type { Handlers } from '../../http/routing/handler.ts'
import { decideInteraction } from './decide-interaction.ts'
import { listInteractions } from './list-interactions.ts'

/** Serves Interactions over HTTP. */
export function interactionHandlers(context: Context): Pick<Handlers, 'listInteractions' | 'decideInteraction'> {
  return {
    listInteractions: async ({ principal, params }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      return { status: 200, body: await listInteractions(context, principal, key) }
    },
    decideInteraction: async ({ principal, params, body }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      const outcome = await decideInteraction(context, principal, key, params.interactionId, body)
      return { status: 200, body: { outcome } }
    },
  }
}
