import type { PrepareOrder } from '@berth/supervisor'

/** What runs in sandboxes that are made before anybody asks for them. */
export interface Readiness {
  /** The supervisor. */
  readonly command: readonly string[]
  /** The agent, which takes its directory from its session and holds no secret. */
  readonly agent: PrepareOrder
}

/** How many sandboxes stand ready, and what runs in them. */
export interface PoolOptions extends Readiness {
  /** Without any demand. */
  readonly least: number
  readonly most: number
  /** Tells whether the host is short of memory; the host's own figures unless a test replaces them. */
  readonly isTight?: () => Promise<boolean>
}
