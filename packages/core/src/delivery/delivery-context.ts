import type { Context } from '../context.ts'
import type { Hosts } from '../hosts/hosts.ts'
import type { Sources } from './sources.ts'

/** Times of deliveries; each is a setting, or follows from one. */
export interface DeliveryLimits {
  /** A Publication that is older than this and not done has failed. */
  readonly publicationMs: number
  /** The same for a Merge, without the time that it waits to be ready. */
  readonly mergeMs: number
  /** Longest time that a Merge waits to be ready. */
  readonly mergeWaitMs: number
  /** Pause before the first check of a waiting Merge; it doubles for each next one, up to a bound. */
  readonly mergeCheckMs: number
  readonly follow: FollowTimes
}

/** Times of a follow-up, in milliseconds. */
export interface FollowTimes {
  /** Between two looks at the host. */
  readonly pollMs: number
  /** Between two looks at a Run, a Publication or a Merge that is under way. */
  readonly workMs: number
  /** How long a single comment waits for more. */
  readonly restMs: number
}

/** Single comments wait for a minute. */
export const followTimes: Omit<FollowTimes, 'pollMs'> = { workMs: 2_000, restMs: 60_000 }

/** The parts that deliveries need beside the domains' own. */
export interface DeliveryContext extends Context {
  /** The hosts that this process holds: a sandbox is reached only there. */
  readonly hosts: Hosts
  /** A directory for files that live as long as a step. */
  readonly scratchDir: string
  readonly sources: Sources
  readonly delivery: DeliveryLimits
}
