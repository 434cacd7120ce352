import type { Capability } from '@berth/contract'
import type { Metering } from './principal.ts'

/** Who calls the gateway, resolved live for each request (interface part 5). */
export interface GatewayCaller {
  /** `installation`, `person` and `end_user` are tokens that the account service issues. */
  readonly kind: 'ai_key' | 'runtime' | 'installation' | 'person' | 'end_user'
  readonly organizationId: string
  readonly capabilities: ReadonlySet<Capability>
  /** Of an `ai_key`. */
  readonly apiKeyId: string | null
  /** Of a `runtime` credential. */
  readonly run: RunSpending | null
  /** Catalog ids that the organization may use; null: all. */
  readonly allowedModels: ReadonlySet<string> | null
  /** When the last of its spent budgets begins anew; null where none is spent. `Infinity` milliseconds: never. */
  readonly quotaEndsAtMs: number | null
}

/** The Run that a runtime credential stands for, and what it has spent. */
export interface RunSpending {
  readonly sessionId: string
  readonly runId: string
  /** Null: it has no bound, and `spentUsd` is not known. */
  readonly budgetUsd: number | null
  readonly spentUsd: number
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
