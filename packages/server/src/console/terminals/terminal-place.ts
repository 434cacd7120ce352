import type { Context } from '../../context.ts'
import type { SupervisorDoor } from '../../sandboxes/leases/supervisor-door.ts'

/** Where terminals are served from. */
export interface TerminalPlace {
  readonly context: Context
  readonly door: SupervisorDoor
  /** This machine with this data directory: only its sandboxes are within reach. */
  readonly host: string
  /** How long a browser may be silent until it is signed out. */
  readonly idleMs: number
  /** Longest time from the end of a person's authority to the end of their terminal. */
  readonly authorityMs: number
}
