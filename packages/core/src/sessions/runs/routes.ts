import type { Context } from '../../context.ts'
import type { Handlers } from '../../http/routing/handler.ts'
import { cancelRun } from './cancel-run.ts'
import { readRun, readSessionFence } from './read-run.ts'

/** Serves Runs and their fence over HTTP. */
export function runHandlers(context: Context): Pick<Handlers, 'getRun' | 'cancelRun' | 'getFence'> {
  return {
    getRun: async ({ principal, params }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      return { status: 200, body: { run: await readRun(context, principal, key, params.runId) } }
    },
    cancelRun: async ({ principal, params }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      return { status: 200, body: { run: await cancelRun(context, principal, key, params.runId) } }
    },
    getFence: async ({ principal, params }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      return { status: 200, body: { fence: await readSessionFence(context, principal, key) } }
    },
  }
}
