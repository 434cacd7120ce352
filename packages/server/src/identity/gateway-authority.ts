import { type Capability, capabilities } from '@berth/contract'
import type { Clock } from '../clock.ts'
import type { Queryable } from '../storage/database.ts'
import { DatabaseUnavailable } from '../storage/database-errors.ts'
import { credentialDigest } from '../storage/master-key.ts'
import type { GatewayAuthority, GatewayCaller, GatewayVerdict } from './gateway-caller.ts'
import { type Bucket, limited, metering } from './metering.ts'
import { MeteringFault } from './principal.ts'

interface JudgementRow {
  readonly outcome: 'granted' | 'invalid' | 'svc-ai' | 'svc-cloud-auth'
  readonly remaining: number
  readonly kind: GatewayCaller['kind']
  readonly organization_id: string
  readonly capabilities: string[]
  readonly api_key_id: string | null
  readonly session_id: string | null
  readonly run_id: string | null
  readonly allowed_models: string[] | null
  readonly quota_ends_at: Date | number | null
  readonly budget_usd: string | null
  readonly spent_usd: string | null
}

/**
 * The gateway's guard. Everything that may refuse a request before its body is read comes with one statement: the
 * credential, its bucket, the organization's models, its budgets and the Run's.
 */
export class DatabaseGatewayAuthority implements GatewayAuthority {
  readonly #db: Queryable
  readonly #clock: Clock
  readonly #buckets: { readonly gateway: Bucket; readonly edge: Bucket }

  constructor(db: Queryable, clock: Clock, buckets: { readonly gateway: Bucket; readonly edge: Bucket }) {
    this.#db = db
    this.#clock = clock
    this.#buckets = buckets
  }

  async judge(request: { readonly bearer: string; readonly clientAddress: string }): Promise<GatewayVerdict> {
    const { gateway, edge } = this.#buckets
    const row = await this.#ask([
      credentialDigest(request.bearer),
      request.clientAddress,
      this.#clock.now(),
      gateway.burst,
      gateway.perMinute,
      edge.burst,
      edge.perMinute,
    ])
    switch (row.outcome) {
      case 'invalid':
        return { kind: 'invalid' }
      case 'svc-cloud-auth':
        return limited(row.outcome, edge, row.remaining)
      case 'svc-ai':
        return limited(row.outcome, gateway, row.remaining)
      case 'granted':
        return { kind: 'granted', caller: callerOf(row), metering: metering('svc-ai', gateway, row.remaining) }
    }
  }

  async #ask(values: readonly unknown[]): Promise<JudgementRow> {
    try {
      const { rows } = await this.#db.query<JudgementRow>({
        name: 'judge-gateway-credential',
        text: 'select * from judge_gateway_credential($1, $2, $3, $4, $5, $6, $7)',
        values,
      })
      const row = rows[0]
      if (row === undefined) throw new Error('no judgement')
      return row
    } catch (error) {
      if (error instanceof DatabaseUnavailable) throw error
      throw new MeteringFault('the guard failed', { cause: error })
    }
  }
}

function callerOf(row: JudgementRow): GatewayCaller {
  const { session_id: sessionId, run_id: runId } = row
  return {
    kind: row.kind,
    organizationId: row.organization_id,
    capabilities: new Set(capabilities.filter((known: Capability) => row.capabilities.includes(known))),
    apiKeyId: row.api_key_id,
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
