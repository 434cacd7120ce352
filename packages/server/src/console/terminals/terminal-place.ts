import type { Context } from '@berth/core/context.ts'
import type { SandboxDoors } from '@berth/core/hosts/sandbox-doors.ts'

/** Where terminals are served from. */
export interface TerminalPlace {
  readonly context: Context
  readonly doors: SandboxDoors
  /** How long a browser may be silent until it is signed out. */
  readonly idleMs: number
  /** Longest time from the end of a person's authority to the end of their terminal. */
  readonly authorityMs: number
}
