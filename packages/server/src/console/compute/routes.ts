import type { Context } from '@berth/core/context.ts'
import type { Handlers } from '@berth/core/http/routing/handler.ts'
import { admitOwnHost, loseOwnHost, markOwnHost, readCompute, removeOwnHost, updateCompute } from './own-hosts.ts'

type Operations = 'getCompute' | 'updateCompute' | 'admitHost' | 'markHost' | 'loseHost' | 'removeHost'

/** Serves administrators the hosts that their organization runs on, and those that it brings itself. */
export function computeHandlers(context: Pick<Context, 'db' | 'clock' | 'wakeups'>): Pick<Handlers, Operations> {
  return {
    getCompute: async ({ principal }) => ({
      status: 200,
      body: await readCompute(context.db, principal.organizationId),
    }),
    updateCompute: async ({ body, ...by }) => ({ status: 200, body: await updateCompute(context, by, body) }),
    admitHost: async ({ body, ...by }) => ({ status: 201, body: await admitOwnHost(context, by, body) }),
    markHost: async ({ params, body, ...by }) => ({
      status: 200,
      body: { host: await markOwnHost(context, by, params.hostId, body) },
    }),
    loseHost: async ({ params, ...by }) => ({
      status: 200,
      body: { host: await loseOwnHost(context, by, params.hostId) },
    }),
    removeHost: async ({ params, ...by }) => {
      await removeOwnHost(context, by, params.hostId)
      return { status: 204 }
    },
  }
}
