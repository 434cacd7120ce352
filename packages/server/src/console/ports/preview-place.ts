import type { IncomingMessage } from 'node:http'
import type { Context } from '@berth/core/context.ts'
import type { SandboxDoors } from '@berth/core/hosts/sandbox-doors.ts'
import type { PreviewDomain } from './preview-host.ts'

/** Where previews are served from. */
export interface PreviewPlace {
  readonly context: Context
  readonly doors: SandboxDoors
  /** Longest time from the end of a person's authority to the end of their streams. */
  readonly authorityMs: number
  /** Null if this deployment has no domain for previews. It may be known only once the service listens. */
  readonly domain: () => PreviewDomain | null
  /** Returns the address of a client, as this machine or a trusted proxy reports it. */
  readonly clientAddress: (request: IncomingMessage) => string
}

/** A running supervisor answers in milliseconds; a frozen one never. */
export const ANSWER_MS = 3_000
