import type { Event } from '@berth/contract'
import type { BerthClient } from './client.ts'

/** Why a follower is between two connections. */
export interface Interruption {
  /** Null when the server ended the stream in its own time, which is routine. */
  readonly fault: unknown
  /** When it subscribes again. */
  readonly delayMs: number
  /** Connections in a row that came to nothing. */
  readonly failures: number
}

export interface FollowOptions {
  readonly client: BerthClient
  readonly sessionId: string
  /** Exclusive cursor: the first Event yielded is the one after it. Default 0, the whole log. */
  readonly after?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** The following ends after the first Event for which this is true; that Event is still yielded. */
  readonly until?: (event: Event) => boolean
  /** Called at every reconnection; what it throws ends the following. */
  readonly onInterruption?: (interruption: Interruption) => void
  /** Silence, in bytes and not in Events, after which a connection counts as dead. Default 40 s. */
  readonly watchdogMs?: number
  /** Time without an Event after which the log is asked whether there is really none. Default 60 s. */
  readonly verifyMs?: number
}
