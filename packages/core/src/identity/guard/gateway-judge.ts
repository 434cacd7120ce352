import type { Role } from '@berth/contract'
import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { TokenVerifier } from '../tokens/token-verifier.ts'
import { addressBucket } from './address-bucket.ts'
import type { GatewayCaller } from './gateway-caller.ts'
import { grantedCapabilities } from './granted-capabilities.ts'
import { judge } from './judge.ts'
import { KeyUse } from './key-use.ts'
import type { Bucket } from './metering.ts'
import { present } from './presented.ts'

/** The answer for requests with one credential from one address that are judged together. */
export interface GatewayJudgement {
  /** Null: the credential does not hold, and the tokens came from the bucket of its address. */
  readonly caller: GatewayCaller | null
  /** Number of the requests that got a token. */
  readonly granted: number
  /** Tokens left in the bucket. */
  readonly remaining: number
  readonly bucket: Bucket
}

/** Resolves a credential at the gateway and meters requests with it. */
export interface GatewayJudge {
  /**
   * @param wanted the number of requests
   * @throws MeteringFault if the bucket cannot be read; any other error means that nobody can judge now
   */
  judge(bearer: string, clientAddress: string, wanted: number): Promise<GatewayJudgement>
}

interface JudgementRow {
  readonly outcome: 'granted' | 'invalid'
  readonly granted: number
  readonly remaining: number
  readonly kind: GatewayCaller['kind']
  readonly organization_id: string
  /** Null for a person. */
  readonly capabilities: string[] | null
  readonly role: Role | null
  readonly cloud_access: boolean
  readonly api_key_id: string | null
  readonly installation_id: string | null
  readonly person_id: string | null
  readonly end_user_id: string | null
  readonly session_id: string | null
  readonly run_id: string | null
  readonly allowed_models: string[] | null
  readonly quota_ends_at: Date | number | null
  readonly pauses: boolean | null
  readonly bounded: boolean | null
  readonly awaits: boolean | null
  readonly budget_usd: string | null
  readonly spent_usd: string | null
  readonly rate_burst: number | null
  readonly rate_per_minute: number | null
}

/**
 * Judges by this database. One statement reads everything that may refuse a request before its body: the credential, its
 * bucket, the organization's models, and the budgets of organization and Run.
 */
export class DatabaseGatewayJudge implements GatewayJudge {
  readonly #db: Queryable
  readonly #clock: Clock
  readonly #tokens: TokenVerifier
  readonly #keyUse: KeyUse
  readonly #buckets: { readonly gateway: Bucket; readonly edge: Bucket }

  constructor(
    db: Queryable,
    clock: Clock,
    tokens: TokenVerifier,
    buckets: { readonly gateway: Bucket; readonly edge: Bucket },
  ) {
    this.#db = db
    this.#clock = clock
    this.#tokens = tokens
    this.#keyUse = new KeyUse(db, clock)
    this.#buckets = buckets
  }

  async judge(bearer: string, clientAddress: string, wanted: number): Promise<GatewayJudgement> {
    const { gateway, edge } = this.#buckets
    const presented = await present(bearer, 'gateway', this.#tokens)
    const row = await judge<JudgementRow>(this.#db, 'judge_gateway_bearer', [
      presented.kind,
      presented.digest,
      presented.subject,
      presented.membership,
      presented.signIn,
      presented.setup,
      presented.endUser,
      addressBucket(clientAddress),
      this.#clock.now(),
      wanted,
      gateway.burst,
      gateway.perMinute,
      edge.burst,
      edge.perMinute,
    ])
    const { granted, remaining } = row
    if (row.outcome === 'invalid') return { caller: null, granted, remaining, bucket: edge }
    if (row.api_key_id !== null) await this.#keyUse.note(row.api_key_id)
    const bucket = { burst: row.rate_burst ?? gateway.burst, perMinute: row.rate_per_minute ?? gateway.perMinute }
    return { caller: callerOf(row), granted, remaining, bucket }
  }
}

function callerOf(row: JudgementRow): GatewayCaller {
  const { session_id: sessionId, run_id: runId } = row
  return {
    kind: row.kind,
    organizationId: row.organization_id,
    capabilities: capabilitiesOf(row),
    apiKeyId: row.api_key_id,
    installationId: row.installation_id,
    personId: row.person_id,
    endUserId: row.end_user_id,
    run:
      sessionId === null || runId === null
        ? null
        : {
            sessionId,
            runId,
            budgetUsd: row.budget_usd === null ? null : Number(row.budget_usd),
            spentUsd: Number(row.spent_usd ?? 0),
            pauses: row.pauses === true,
            awaits: row.awaits === true,
          },
    allowedModels: row.allowed_models === null ? null : new Set(row.allowed_models),
    quotaEndsAtMs: row.quota_ends_at === null ? null : Number(row.quota_ends_at),
    hasBudget: row.bounded === true,
  }
}

/** A token of an end user opens models alone, whatever else the installation holds. */
function capabilitiesOf({ kind, capabilities, cloud_access }: JudgementRow): GatewayCaller['capabilities'] {
  const held = grantedCapabilities(capabilities, cloud_access)
  return kind === 'end_user' ? new Set([...held].filter(capability => capability === 'svc.ai.invoke')) : held
}
