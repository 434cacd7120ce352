import type { Role } from '@berth/contract'
import type { Clock } from '../../kit/clock.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import type { TokenVerifier } from '../tokens/token-verifier.ts'
import { addressBucket } from './address-bucket.ts'
import type { GatewayAuthority, GatewayCaller, GatewayVerdict } from './gateway-caller.ts'
import { grantedCapabilities } from './granted-capabilities.ts'
import { judge } from './judge.ts'
import { KeyUse } from './key-use.ts'
import { type Bucket, limited, metering } from './metering.ts'
import { present } from './presented.ts'

interface JudgementRow {
  readonly outcome: 'granted' | 'invalid'
  /** Number of the judged requests that got a token. */
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
  readonly budget_usd: string | null
  readonly spent_usd: string | null
}

/** Requests with one credential from one address, judged together. */
interface Batch {
  readonly bearer: string
  readonly clientAddress: string
  waiting: PromiseWithResolvers<GatewayVerdict>[]
}

/**
 * The gateway's guard. One statement reads everything that may refuse a request before its body: the credential, its
 * bucket, the organization's models, and the budgets of organization and Run.
 *
 * Requests that arrive while a statement for their credential runs are judged together by the next one. Each is judged
 * after its arrival, so a revocation takes effect as before. A busy key no longer queues for the lock of its bucket's
 * row. That queue had held it to a fraction of the throughput that the rest can serve.
 */
export class DatabaseGatewayAuthority implements GatewayAuthority {
  readonly #db: Queryable
  readonly #clock: Clock
  readonly #tokens: TokenVerifier
  readonly #keyUse: KeyUse
  readonly #buckets: { readonly gateway: Bucket; readonly edge: Bucket }
  /** Batches whose statement is running. */
  readonly #batches = new Map<string, Batch>()

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

  judge({ bearer, clientAddress }: { readonly bearer: string; readonly clientAddress: string }) {
    const key = `${bearer} ${clientAddress}`
    const verdict = Promise.withResolvers<GatewayVerdict>()
    const batch = this.#batches.get(key)
    if (batch !== undefined) {
      batch.waiting.push(verdict)
      return verdict.promise
    }
    const begun = { bearer, clientAddress, waiting: [verdict] }
    this.#batches.set(key, begun)
    void this.#judgeAll(key, begun)
    return verdict.promise
  }

  async #judgeAll(key: string, batch: Batch): Promise<void> {
    do {
      const together = batch.waiting
      batch.waiting = []
      try {
        const row = await this.#ask(batch, together.length)
        if (row.api_key_id !== null) await this.#keyUse.note(row.api_key_id)
        for (const [index, verdict] of together.entries()) verdict.resolve(this.#verdict(row, index))
      } catch (error) {
        for (const verdict of together) verdict.reject(error)
      }
      // A busy key's next requests are about to be read. One statement judges all that arrive in two turns of the event
      // loop. The first request of an idle key was judged at once.
      for (let turn = 0; turn < 2; turn += 1) await new Promise(setImmediate)
    } while (batch.waiting.length > 0)
    // In the same turn as the check, so that no request joins a batch that nobody judges.
    this.#batches.delete(key)
  }

  /** Returns the verdict of one request of a batch: the first ones got the tokens. */
  #verdict(row: JudgementRow, index: number): GatewayVerdict {
    const { gateway, edge } = this.#buckets
    if (row.outcome === 'invalid') {
      return index < row.granted ? { kind: 'invalid' } : limited('svc-cloud-auth', edge, row.remaining)
    }
    if (index >= row.granted) return limited('svc-ai', gateway, row.remaining)
    const remaining = row.remaining + row.granted - 1 - index
    return { kind: 'granted', caller: callerOf(row), metering: metering('svc-ai', gateway, remaining) }
  }

  async #ask({ bearer, clientAddress }: Batch, wanted: number): Promise<JudgementRow> {
    const { gateway, edge } = this.#buckets
    const presented = await present(bearer, 'gateway', this.#tokens)
    return judge<JudgementRow>(this.#db, 'judge_gateway_bearer', [
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
          },
    allowedModels: row.allowed_models === null ? null : new Set(row.allowed_models),
    quotaEndsAtMs: row.quota_ends_at === null ? null : Number(row.quota_ends_at),
  }
}

/** A token of an end user opens models alone, whatever else the installation holds. */
function capabilitiesOf({ kind, capabilities, cloud_access }: JudgementRow): GatewayCaller['capabilities'] {
  const held = grantedCapabilities(capabilities, cloud_access)
  return kind === 'end_user' ? new Set([...held].filter(capability => capability === 'svc.ai.invoke')) : held
}
