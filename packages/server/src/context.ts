import type { Logger } from 'pino'
import type { GitHosts } from './git-hosts/git-hosts.ts'
import type { Clock } from './kit/clock.ts'
import type { RuntimeCatalog } from './runtimes/catalog.ts'
import type { ConfiguredModels } from './runtimes/configured-models.ts'
import type { Blobs } from './storage/blobs/blobs.ts'
import type { Database } from './storage/postgres/database.ts'
import type { Wakeups } from './storage/postgres/wakeups.ts'

/** What the domains work with; made once, by the composition root. */
export interface Context {
  readonly db: Database
  readonly blobs: Blobs
  readonly wakeups: Wakeups
  readonly clock: Clock
  readonly log: Logger
  readonly runtimes: RuntimeCatalog
  readonly gitHosts: GitHosts
  /** The models that are configured, by id or alias. */
  readonly models: ConfiguredModels
  readonly defaultModel: string | null
  /** Longest wait of a caller for a workspace that is being brought up (interface 8.6). */
  readonly workspaceWaitMs: number
  /** Longest wait of a caller for a review. */
  readonly reviewWaitMs: number
  /** Origin of `sessionUrl`. */
  readonly consoleUrl: string
}
