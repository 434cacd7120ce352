import { sessionStatuses } from '@berth/contract/session-status'
import type { Measure, Range } from '../usage/choices.ts'

/** The parts of a Session's work that the page shows beside its transcript. */
export const panels = ['changes', 'files', 'preview', 'artifacts', 'terminal', 'details'] as const

export type Panel = (typeof panels)[number]

/** The states by which the list is filtered. */
export const stateFilters = sessionStatuses

export interface SessionListSearch {
  readonly q?: string | undefined
  readonly state?: (typeof stateFilters)[number] | undefined
  /** Not only the person's own. Those that wait for people are never only their own. */
  readonly everyone?: true | undefined
  /** `<kind>:<repositoryId>` */
  readonly repository?: string | undefined
  readonly archived?: true | undefined
}

export interface SessionSearch {
  readonly panel?: Panel | undefined
  /** Sequence of an Event to show. */
  readonly event?: number | undefined
  /** A file of the workspace, and the line to begin at. */
  readonly file?: string | undefined
  readonly line?: number | undefined
  /** The files as they were when the Session began, alone or beside those of now. */
  readonly at?: 'base' | 'both' | undefined
  /** Asks whether to merge the newest pull request. */
  readonly merge?: true | undefined
  /** Id of the Artifact that is open. */
  readonly artifact?: string | undefined
}

/** The states by which pull requests are filtered. */
export const pullFilters = ['open', 'draft', 'merged', 'closed'] as const

export interface PullListSearch {
  readonly state?: (typeof pullFilters)[number] | undefined
  /** Not only those of the person's own Sessions. */
  readonly everyone?: true | undefined
}

export interface PullSearch {
  /** The Session that published it. */
  readonly session?: string | undefined
}

export interface EnvironmentListSearch {
  readonly archived?: true | undefined
}

/** The parts of an environment's page. */
export const environmentTabs = ['document', 'secrets', 'trial', 'history'] as const

export interface EnvironmentSearch {
  readonly tab?: (typeof environmentTabs)[number] | undefined
}

/** A table of the organization: its search and page, and the dialog that is open over it. */
export interface Listing {
  readonly q?: string | undefined
  /** From 2 on; the first page has no number. */
  readonly page?: number | undefined
  /** Name of the dialog. It is in the URL so that a sign-in in between comes back to it. */
  readonly dialog?: string | undefined
  /** Id of the dialog's subject. */
  readonly of?: string | undefined
  /** True if ended items are listed as well. */
  readonly ended?: true | undefined
  /** Slug of the app that is shown alone. */
  readonly app?: string | undefined
  /** Id of an installation in another organization that is shown as well. */
  readonly installation?: string | undefined
  /** State of the deliveries that are shown alone. */
  readonly status?: DeliveryStatus | undefined
}

/** States of a webhook's delivery. */
export const deliveryStatuses = ['pending', 'succeeded', 'failed'] as const

export type DeliveryStatus = (typeof deliveryStatuses)[number]

/** The dimension that a usage report is grouped by. */
export const usageGroupings = ['day', 'model', 'person', 'repository', 'session'] as const

/** The filters of a usage report. Days of UTC as `YYYY-MM-DD` win over a range. */
export interface UsageSearch {
  readonly by?: (typeof usageGroupings)[number] | undefined
  readonly whose?: 'me' | undefined
  readonly measure?: Measure | undefined
  readonly range?: Range | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** Which entries of the audit log are shown; days of UTC as `YYYY-MM-DD`. */
export interface AuditSearch {
  readonly actor?: string | undefined
  readonly action?: string | undefined
  readonly target?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** The values that a link puts into the form of a new Session; nothing starts by itself. */
export interface NewSessionSearch {
  /** The message. */
  readonly q?: string | undefined
  /** Full name of the repository. */
  readonly repo?: string | undefined
  readonly branch?: string | undefined
  /** Id of the runtime. */
  readonly agent?: string | undefined
  readonly model?: string | undefined
  /** The agent proposes a plan first. */
  readonly mode?: 'plan' | undefined
}

/** Where to go once an account at a Git host is connected. */
export interface GitAccountsSearch {
  /** A path of this page. */
  readonly back?: string | undefined
}

/** Every page of the console by name: links are made here alone, so that a path is written once. */
export const to = {
  sessions: (search: SessionListSearch = {}) => ({ to: '/sessions', search }) as const,
  newSession: (search: NewSessionSearch = {}) => ({ to: '/sessions/new', search }) as const,
  session: (sessionId: string, search: SessionSearch = {}) =>
    ({ to: '/sessions/$sessionId', params: { sessionId }, search }) as const,
  pullRequests: (search: PullListSearch = {}) => ({ to: '/pull-requests', search }) as const,
  pull: (repositoryId: string, number: number, search: PullSearch = {}) =>
    ({ to: '/pulls/$repositoryId/$number', params: { repositoryId, number }, search }) as const,
  review: (sessionId: string) => ({ to: '/sessions/$sessionId/review', params: { sessionId } }) as const,
  compare: (sessionId: string, otherId: string) =>
    ({ to: '/sessions/$sessionId/compare/$otherId', params: { sessionId, otherId } }) as const,
  environments: (search: EnvironmentListSearch = {}) => ({ to: '/environments', search }) as const,
  newEnvironment: () => ({ to: '/environments/new' }) as const,
  environment: (environmentId: string, search: EnvironmentSearch = {}) =>
    ({ to: '/environments/$environmentId', params: { environmentId }, search }) as const,
  organization: () => ({ to: '/organization' }) as const,
  members: (search: Listing = {}) => ({ to: '/organization/members', search }) as const,
  integrations: (search: Listing = {}) => ({ to: '/organization/integrations', search }) as const,
  integration: (integrationId: string, search: Listing = {}) =>
    ({ to: '/organization/integrations/$integrationId', params: { integrationId }, search }) as const,
  installations: (search: Listing = {}) => ({ to: '/organization/installations', search }) as const,
  triggers: (search: Listing = {}) => ({ to: '/organization/triggers', search }) as const,
  trigger: (installationId: string, triggerId: string, search: Listing = {}) =>
    ({
      to: '/organization/triggers/$installationId/$triggerId',
      params: { installationId, triggerId },
      search,
    }) as const,
  apps: (search: Listing = {}) => ({ to: '/organization/apps', search }) as const,
  app: (appSlug: string, search: Listing = {}) =>
    ({ to: '/organization/apps/$appSlug', params: { appSlug }, search }) as const,
  webhooks: (search: Listing = {}) => ({ to: '/organization/webhooks', search }) as const,
  webhook: (appSlug: string, installationId: string, endpointId: string, search: Listing = {}) =>
    ({
      to: '/organization/webhooks/$appSlug/$installationId/$endpointId',
      params: { appSlug, installationId, endpointId },
      search,
    }) as const,
  usage: (search: UsageSearch = {}) => ({ to: '/organization/usage', search }) as const,
  git: (search: Listing = {}) => ({ to: '/organization/git', search }) as const,
  models: () => ({ to: '/organization/models' }) as const,
  compute: (search: Listing = {}) => ({ to: '/organization/compute', search }) as const,
  limits: () => ({ to: '/organization/limits' }) as const,
  audit: (search: AuditSearch = {}) => ({ to: '/organization/audit', search }) as const,
  health: () => ({ to: '/organization/health' }) as const,
  settings: () => ({ to: '/settings' }) as const,
  profile: () => ({ to: '/settings/profile' }) as const,
  browsers: () => ({ to: '/settings/browsers' }) as const,
  gitAccounts: (search: GitAccountsSearch = {}) => ({ to: '/settings/git', search }) as const,
  appearance: () => ({ to: '/settings/appearance' }) as const,
  notifications: () => ({ to: '/settings/notifications' }) as const,
  shortcuts: () => ({ to: '/settings/shortcuts' }) as const,
  help: () => ({ to: '/settings/help' }) as const,
} as const
