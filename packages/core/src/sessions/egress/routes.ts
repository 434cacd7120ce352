import type { Context } from '../../context.ts'
import type { Handlers } from '../../http/routing/handler.ts'
import { allowHost } from './allow-host.ts'
import { readEgress } from './read-egress.ts'

/** Serves the network of Sessions over HTTP. */
export function egressHandlers(context: Context): Pick<Handlers, 'getSessionEgress' | 'allowSessionHost'> {
  return {
    getSessionEgress: async ({ principal, params }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      return { status: 200, body: await readEgress(context, principal, key) }
    },
    allowSessionHost: async ({ principal, params }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      return { status: 200, body: await allowHost(context, principal, key, params.host) }
    },
  }
}
