import type { Context } from '@berth/core/context.ts'
import type { Handlers } from '@berth/core/http/routing/handler.ts'
import { readChecks } from './read-checks.ts'

/** Serves the checks of pull requests that Sessions have published. */
export function checkHandlers(context: Context): Pick<Handlers, 'listPublicationChecks'> {
  return {
    listPublicationChecks: async ({ principal, params: { sessionId, publicationId }, signal }) => ({
      status: 200,
      body: await readChecks(
        context,
        principal,
        { organizationId: principal.organizationId, sessionId },
        publicationId,
        signal,
      ),
    }),
  }
}
