import type { Logger } from 'pino'
import type { GitHosts } from './git-hosts/git-hosts.ts'
import type { Clock } from './kit/clock.ts'
import type { ModelFacts, RuntimeCatalog, RuntimeEntry } from './runtimes/catalog.ts'
import type { Blobs } from './storage/blobs/blobs.ts'
import type { Database } from './storage/postgres/database.ts'
import type { Wakeups } from './storage/postgres/wakeups.ts'

/** What the configuration says of models. */
export interface ConfiguredModels {
  has(id: string): boolean
  /** Whether the model's provider speaks a format by itself. */
  speaks(id: string, format: NonNullable<RuntimeEntry['speaks']>): boolean
  /** The first that is named whose provider does; null where none is. */
  firstThatSpeaks(format: NonNullable<RuntimeEntry['speaks']>): string | null
  /** What an agent is told of a model; the id alone where its provider is yet to be asked. */
  facts(id: string): ModelFacts
}

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
