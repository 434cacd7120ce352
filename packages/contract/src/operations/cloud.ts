import { repositoryOperations } from './repository.ts'
import { sessionOperations } from './session.ts'

/** People alone; an installation's credential is refused as at `getMe`. */
const people = { access: 'bearer', principal: 'person' } as const

const { listRepositories, getLocalPull } = repositoryOperations
const { createSession } = sessionOperations

/**
 * Operations of first-party clients, on the repositories that the organization itself is connected to. They are left out
 * of the public document and may change with the clients.
 */
export const cloudOperations = {
  listOrganizationRepositories: {
    ...listRepositories,
    ...people,
    path: '/cloud/repositories',
    summary: "List the organization's repositories",
    description:
      "Lists the repositories that the organization's own connections reach, as the Git hosts report them now.",
    capability: 'svc.cloud.sessions:create',
  },
  createOrganizationSession: {
    ...createSession,
    ...people,
    path: '/cloud/sessions/{sessionId}',
    summary: "Create a Session on one of the organization's repositories",
    description:
      "With a `source`, the service's own installation owns the Session, and `initiatedBy` names the person. Without one, this is `createSession`.",
    errors: createSession.errors.filter(code => code !== 'installation_principal_required'),
  },
  getOrganizationPull: {
    ...getLocalPull,
    ...people,
    path: '/cloud/local-repositories/{repositoryId}/pulls/{number}',
  },
} as const
