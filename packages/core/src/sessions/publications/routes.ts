import type { Context } from '../../context.ts'
import type { Handlers } from '../../http/routing/handler.ts'
import { toBundle } from '../statements/envelope.ts'
import { admitPublication } from './admit-publication.ts'
import { readLocalPull } from './local-pull.ts'
import { pagePublications, readPublication } from './read-publication.ts'
import { listStatements, readStatement } from './read-statement.ts'
import { reviewLocalPull } from './review-local-pull.ts'

/** Serves Publications over HTTP. */
export function publicationHandlers(
  context: Context,
): Pick<
  Handlers,
  | 'listPublications'
  | 'createPublication'
  | 'getPublication'
  | 'getLocalPull'
  | 'reviewLocalPull'
  | 'getStatement'
  | 'listStatements'
> {
  return {
    listPublications: async ({ principal, params, query }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      return { status: 200, body: await pagePublications(context, principal, key, query) }
    },
    createPublication: async ({ principal, params, body }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      const { created, publication } = await admitPublication(context, principal, key, params.publicationId, body)
      return { status: created ? 201 : 200, body: { publication } }
    },
    getPublication: async ({ principal, params }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      return {
        status: 200,
        body: { publication: await readPublication(context, principal, key, params.publicationId) },
      }
    },
    getStatement: async ({ principal, params, query }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      const envelope = await readStatement(context, principal, key, params.publicationId)
      return { status: 200, body: query.format === 'sigstore' ? toBundle(envelope) : envelope }
    },
    listStatements: async ({ principal, query }) => ({
      status: 200,
      body: await listStatements(context, principal, query.commit),
    }),
    getLocalPull: async ({ principal, params, signal }) => ({
      status: 200,
      body: { pull: await readLocalPull(context, principal, params, signal) },
    }),
    reviewLocalPull: async ({ principal, params, body, signal }) => {
      const { created, review } = await reviewLocalPull(context, principal, params, body, signal)
      return { status: created ? 201 : 200, body: { review } }
    },
  }
}
