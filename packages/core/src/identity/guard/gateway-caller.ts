import type { Capability } from '@berth/contract'
import type { Metering } from './principal.ts'

/** The caller of the gateway, resolved live for each request. */
export interface GatewayCaller {
  /** `installation`, `person` and `end_user` are tokens that the account service issues. */
  readonly kind: 'ai_key' | 'runtime' | 'installation' | 'person' | 'end_user'
  readonly organizationId: string
  readonly capabilities: ReadonlySet<Capability>
  /** Of an `ai_key`. */
  readonly apiKeyId: string | null
  /** Whose use it is: the installation that was let in, or that owns the Run's Session. */
  readonly installationId: string | null
  readonly personId: string | null
  /** The publisher's own name of the user it acts for. */
  readonly endUserId: string | null
  /** Of a `runtime` credential. */
  readonly run: RunSpending | null
  /** Catalog ids that the organization may use; null: all. */
  readonly allowedModels: ReadonlySet<string> | null
  /**
   * When the last spent budget resets, in milliseconds since 1970; null if none is spent, `Infinity` if it never
   * resets.
   */
  readonly quotaEndsAtMs: number | null
  /** A budget counts its requests, whatever happens at its limit. */
  readonly hasBudget: boolean
}

/** The Run of a runtime credential, and its spending. */
export interface RunSpending {
  readonly sessionId: string
  readonly runId: string
  /** Null: it has no bound, and `spentUsd` is unknown. */
  readonly budgetUsd: number | null
  readonly spentUsd: number
  /** There is a budget at which it waits for people. */
  readonly pauses: boolean
  /** It waits for people. */
  readonly awaits: boolean
}

/** The answer of the gateway's guard. */
export type GatewayVerdict =
  | { readonly kind: 'granted'; readonly caller: GatewayCaller; readonly metering: Metering }
  | { readonly kind: 'invalid' }
  | { readonly kind: 'limited'; readonly metering: Metering; readonly retryAfterSeconds: number }

/** Resolves the gateway's bearer credentials and meters its requests, in one round trip. */
export interface GatewayAuthority {
  /** @throws MeteringFault when a bucket cannot be read; any other error means the database is away. */
  judge(request: { readonly bearer: string; readonly clientAddress: string }): Promise<GatewayVerdict>
}
