import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import type { Wakeups } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Logger } from 'pino'
import type { CommitApp } from './git/git-identity.ts'
import type { GitHosts } from './git-hosts/git-hosts.ts'
import type { RuntimeCatalog } from './runtimes/catalog.ts'
import type { ConfiguredModels } from './runtimes/configured-models.ts'

/** Shared dependencies of the domains. The composition root makes it once. */
export interface Context {
  readonly db: Database
  readonly blobs: Blobs
  readonly wakeups: Wakeups
  readonly clock: Clock
  readonly log: Logger
  readonly runtimes: RuntimeCatalog
  readonly gitHosts: GitHosts
  readonly commits: CommitApp
  /** Configured models, by id or alias. */
  readonly models: ConfiguredModels
  readonly defaultModel: string | null
  /** Longest wait of a caller for a workspace that a worker is restoring. */
  readonly workspaceWaitMs: number
  /** Longest wait of a caller for a review. */
  readonly reviewWaitMs: number
  /** Where people look at Sessions and at pull requests of local repositories. */
  readonly consoleUrl: string
  /** Where clients reach the API. */
  readonly baseUrl: string
}
