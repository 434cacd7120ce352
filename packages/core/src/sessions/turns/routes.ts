import type { Context } from '../../context.ts'
import type { Handlers } from '../../http/routing/handler.ts'
import { admitTurn } from './admit-turn.ts'
import { pageTurns } from './page-turns.ts'

/** Serves Turns over HTTP. */
export function turnHandlers(context: Context): Pick<Handlers, 'listTurns' | 'submitTurn'> {
  return {
    listTurns: async ({ principal, params, query }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      return { status: 200, body: await pageTurns(context, principal, key, query) }
    },
    submitTurn: async ({ principal, params, body }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      return { status: 202, body: await admitTurn(context, principal, key, params.turnId, body) }
    },
  }
}
