import { provideOwnInstallation } from '@berth/core/accounts/installations/own-installation.ts'
import type { Context } from '@berth/core/context.ts'
import type { Handlers } from '@berth/core/http/routing/handler.ts'
import { listBranches } from '@berth/core/repositories/list-branches.ts'
import { pageRepositories } from '@berth/core/repositories/page-repositories.ts'
import { createSession } from '@berth/core/sessions/create-session.ts'
import { readLocalPull } from '@berth/core/sessions/publications/local-pull.ts'
import { reviewLocalPull } from '@berth/core/sessions/publications/review-local-pull.ts'
import { provideSampleRepository } from './provide-sample-repository.ts'

type Operations =
  | 'listOrganizationRepositories'
  | 'listOrganizationBranches'
  | 'createOrganizationSession'
  | 'getOrganizationPull'
  | 'reviewOrganizationPull'
  | 'provideSampleRepository'

/** Serves first-party clients: people who work on the repositories that their organization is connected to. */
export function cloudHandlers(context: Context): Pick<Handlers, Operations> {
  return {
    listOrganizationRepositories: async ({ principal: { organizationId }, query }) => {
      const { id: installationId } = await provideOwnInstallation(context, organizationId)
      return { status: 200, body: await pageRepositories(context, { organizationId, installationId }, query) }
    },
    listOrganizationBranches: async ({ principal, params, query: { q = '' }, signal }) => {
      const { organizationId, id: personId } = principal
      const { id: installationId } = await provideOwnInstallation(context, organizationId)
      const wanted = { grantId: params.grantId, repositoryId: params.repositoryId, prefix: q }
      return {
        status: 200,
        body: await listBranches(context, { organizationId, installationId }, wanted, personId, signal),
      }
    },
    provideSampleRepository: async ({ principal, clientAddress }) => {
      if (principal.kind !== 'person') throw new Error('an operation of people was reached by an installation')
      return { status: 200, body: { repository: await provideSampleRepository(context, principal, clientAddress) } }
    },
    createOrganizationSession: async ({ principal, params: { sessionId }, body }) => {
      const { organizationId } = principal
      const { created, session } = await createSession(context, principal, { organizationId, sessionId }, body, {
        sourceOwner: async () => (await provideOwnInstallation(context, organizationId)).id,
      })
      return {
        status: created ? 201 : 200,
        body: { session },
        headers: { location: `/v1/sessions/${session.id}` },
      }
    },
    getOrganizationPull: async ({ principal, params, signal }) => ({
      status: 200,
      body: { pull: await readLocalPull(context, principal, params, signal) },
    }),
    reviewOrganizationPull: async ({ principal, params, body, signal }) => {
      const { created, review } = await reviewLocalPull(context, principal, params, body, signal)
      return { status: created ? 201 : 200, body: { review } }
    },
  }
}
