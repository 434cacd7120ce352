import type { Context } from '../context.ts'
import type { SandboxDriver } from '../sandboxes/driver.ts'
import type { Sources } from './sources.ts'

/** Times of deliveries; each is a setting, or follows from one. */
export interface DeliveryLimits {
  /** A Publication that has not got through by then has failed. */
  readonly publicationMs: number
  /** The same for a Merge, but for the time that it waits to be ready. */
  readonly mergeMs: number
  /** A Merge that waits to be ready waits this long at most. */
  readonly mergeWaitMs: number
  /** Before the first look whether it has become ready; doubled up to a bound for the next. */
  readonly mergeCheckMs: number
}

/** What deliveries need beside the domains. */
export interface DeliveryContext extends Context {
  readonly driver: Pick<SandboxDriver, 'trees'>
  /** Names this machine: sandboxes are reached from where they were made. */
  readonly host: string
  /** A directory for what lives as long as a step. */
  readonly scratchDir: string
  readonly sources: Sources
  readonly delivery: DeliveryLimits
}
