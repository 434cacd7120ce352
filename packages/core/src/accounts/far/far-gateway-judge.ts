import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { GatewayCaller } from '../../identity/guard/gateway-caller.ts'
import type { GatewayJudge, GatewayJudgement } from '../../identity/guard/gateway-judge.ts'
import type { AccountClient } from './account-client.ts'
import type { CopiedRows } from './copied-rows.ts'
import { knownCapabilities } from './far-authority.ts'
import { internalPaths, isGatewayJudgement, mostAddress } from './wire.ts'

interface AllowanceRow {
  readonly allowed_models: string[] | null
  readonly quota_ends_at: Date | number | null
  readonly bounded: boolean
}

/**
 * Judges the gateway's callers at an account service with another database. Credentials of Runs stay here, where they
 * were made, and so does everything that operators set about models and spending.
 */
export class FarGatewayJudge implements GatewayJudge {
  readonly #account: AccountClient
  readonly #copies: CopiedRows
  readonly #db: Queryable
  readonly #clock: Clock
  readonly #runs: GatewayJudge

  /** @param runs judges the credentials of Runs */
  constructor(
    { account, copies }: { readonly account: AccountClient; readonly copies: CopiedRows },
    db: Queryable,
    clock: Clock,
    runs: GatewayJudge,
  ) {
    this.#account = account
    this.#copies = copies
    this.#db = db
    this.#clock = clock
    this.#runs = runs
  }

  /** @throws ApiError 503 `identity_service_unavailable`; DatabaseUnavailable */
  async judge(bearer: string, clientAddress: string, wanted: number): Promise<GatewayJudgement> {
    if (bearer.startsWith('svc_run_')) return this.#runs.judge(bearer, clientAddress, wanted)
    const sent = { bearer, address: clientAddress.slice(0, mostAddress), wanted }
    const judgement = await this.#account.ask(internalPaths.judgeGateway, isGatewayJudgement, sent)
    const { caller, snapshot, granted, remaining, bucket } = judgement
    if (caller === null || snapshot === null) return { caller: null, granted, remaining, bucket }
    await this.#copies.provide(snapshot)
    const allowance = await this.#allowanceOf(caller)
    const capabilities = knownCapabilities(caller.capabilities)
    return { caller: { ...caller, capabilities, run: null, ...allowance }, granted, remaining, bucket }
  }

  async #allowanceOf(caller: Pick<GatewayCaller, 'organizationId' | 'apiKeyId' | 'personId' | 'installationId'>) {
    const { organizationId, apiKeyId, personId, installationId } = caller
    const { rows } = await this.#db.query<AllowanceRow>({
      name: 'read-gateway-allowance',
      text: 'select allowed_models, quota_ends_at, bounded from gateway_allowance($1, $2, null, $3, $4, $5)',
      values: [organizationId, apiKeyId, personId, installationId, this.#clock.now()],
    })
    const { allowed_models = null, quota_ends_at = null, bounded = false } = rows[0] ?? {}
    return {
      allowedModels: allowed_models === null ? null : new Set(allowed_models),
      quotaEndsAtMs: quota_ends_at === null ? null : Number(quota_ends_at),
      hasBudget: bounded,
    }
  }
}
