import type { Context } from '../../context.ts'
import type { Handlers } from '../../http/routing/handler.ts'
import { admitVerification } from './admit-verification.ts'
import { pageVerifications, readVerification } from './read-verification.ts'

/** Serves verifications over HTTP. */
export function verificationHandlers(
  context: Context,
): Pick<Handlers, 'listVerifications' | 'createVerification' | 'getVerification'> {
  return {
    listVerifications: async ({ principal, params, query }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      return { status: 200, body: await pageVerifications(context, principal, key, query) }
    },
    createVerification: async ({ principal, params, body }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      const { created, verification } = await admitVerification(context, principal, key, params.verificationId, body)
      return { status: created ? 201 : 200, body: { verification } }
    },
    getVerification: async ({ principal, params }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      const verification = await readVerification(context, principal, key, params.verificationId)
      return { status: 200, body: { verification } }
    },
  }
}
