import type { BerthClient } from './client.ts'
import type { Event } from './generated/types.ts'

/** Why a follower has no connection. */
export interface Interruption {
  /** Null if the server ended the stream by itself, which is routine. */
  readonly fault: unknown
  /** Time until it subscribes again. */
  readonly delayMs: number
  /** Number of useless connections in a row. */
  readonly failures: number
}

export interface FollowOptions {
  readonly client: BerthClient
  readonly sessionId: string
  /** Exclusive cursor: the first Event yielded is the one after it. Default 0, the whole log. */
  readonly after?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** The follower stops after the first Event for which this returns true; it still yields that Event. */
  readonly until?: (event: Event) => boolean
  /** Called before every reconnection; an error that it throws ends the follower. */
  readonly onInterruption?: (interruption: Interruption) => void
  /**
   * Bound of the random pause before a reconnection, which doubles with every failure; the service may ask for more.
   * Default 30 s. Ask for less only where a person watches: programs that return together load a service that begins.
   */
  readonly maxDelayMs?: number
  /** Silence, in bytes and not in Events, after which a connection counts as dead. Default 40 s. */
  readonly watchdogMs?: number
  /** Time without an Event after which the follower checks the log. Default 60 s. */
  readonly verifyMs?: number
}
