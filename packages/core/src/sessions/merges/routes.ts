import type { Context } from '../../context.ts'
import type { Handlers } from '../../http/routing/handler.ts'
import { admitMerge } from './admit-merge.ts'
import { pageMerges, readMerge } from './read-merge.ts'

/** Serves Merges over HTTP. */
export function mergeHandlers(context: Context): Pick<Handlers, 'listMerges' | 'createMerge' | 'getMerge'> {
  return {
    listMerges: async ({ principal, params, query }) => {
      const key = { organizationId: principal.organizationId, ...params }
      return { status: 200, body: await pageMerges(context, principal, key, query) }
    },
    createMerge: async ({ principal, params, body }) => {
      const key = { organizationId: principal.organizationId, ...params }
      const { created, merge } = await admitMerge(context, principal, key, params.mergeId, body)
      return { status: created ? 201 : 200, body: { merge } }
    },
    getMerge: async ({ principal, params }) => {
      const key = { organizationId: principal.organizationId, ...params }
      return { status: 200, body: { merge: await readMerge(context, principal, key, params.mergeId) } }
    },
  }
}
