import type { Context } from '../../context.ts'
import type { Handlers } from '../../http/routing/handler.ts'
import { pagePulls } from './page-pulls.ts'
import { putFollowUp } from './put-follow-up.ts'
import { readFollowUp } from './read-follow-up.ts'
import { stopFollowUp } from './stop-follow-up.ts'

/** Serves follow-ups and the list of pull requests over HTTP. */
export function followUpHandlers(
  context: Context,
): Pick<Handlers, 'getFollowUp' | 'putFollowUp' | 'stopFollowUp' | 'listPullRequests'> {
  return {
    getFollowUp: async ({ principal, params }) => {
      const key = { organizationId: principal.organizationId, ...params }
      return { status: 200, body: { followUp: await readFollowUp(context, principal, key) } }
    },
    putFollowUp: async ({ principal, params, body, clientAddress }) => {
      const key = { organizationId: principal.organizationId, ...params }
      return { status: 200, body: { followUp: await putFollowUp(context, principal, key, body, clientAddress) } }
    },
    stopFollowUp: async ({ principal, params, clientAddress }) => {
      const key = { organizationId: principal.organizationId, ...params }
      return { status: 200, body: { followUp: await stopFollowUp(context, principal, key, clientAddress) } }
    },
    listPullRequests: async ({ principal, query }) => ({
      status: 200,
      body: await pagePulls(context, principal, query),
    }),
  }
}
