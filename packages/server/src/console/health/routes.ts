import type { Context } from '@berth/core/context.ts'
import type { Handlers } from '@berth/core/http/routing/handler.ts'
import { readHealth } from './read-health.ts'

/** Serves administrators the state of hosts, queues and models. */
export function healthHandlers(context: Pick<Context, 'db' | 'clock'>): Pick<Handlers, 'getHealth'> {
  return {
    getHealth: async ({ principal }) => ({ status: 200, body: await readHealth(context, principal.organizationId) }),
  }
}
