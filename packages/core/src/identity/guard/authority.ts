import type { Role } from '@berth/contract'
import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { TokenVerifier } from '../tokens/token-verifier.ts'
import { addressBucket } from './address-bucket.ts'
import { grantedCapabilities } from './granted-capabilities.ts'
import { heldPermissions } from './held-permissions.ts'
import { judge } from './judge.ts'
import { KeyUse } from './key-use.ts'
import { type Bucket, limited, metering } from './metering.ts'
import { type Presented, present } from './presented.ts'
import type { Authority, Principal, Verdict } from './principal.ts'

interface JudgementRow {
  readonly outcome: 'granted' | 'invalid' | 'svc-cloud' | 'svc-cloud-auth'
  readonly remaining: number | null
  readonly principal_kind: Principal['kind'] | null
  readonly principal_id: string | null
  readonly organization_id: string | null
  readonly capabilities: string[] | null
  readonly role: Role | null
  readonly permissions: string[] | null
  readonly membership_id: string | null
  readonly api_key_id: string | null
  readonly cloud_access: boolean | null
  readonly expires_at: Date | null
  readonly rate_burst: number | null
  readonly rate_per_minute: number | null
}

/**
 * Resolves credentials and meters requests, live, in one round trip: a revocation bites on the next request, and a bucket
 * belongs to the installation or membership, so a new credential does not refill it. Secrets are looked up by their
 * digest; the comparison in the index tells a prober nothing about the secret itself.
 */
export class DatabaseAuthority implements Authority {
  readonly #db: Queryable
  readonly #clock: Clock
  readonly #tokens: TokenVerifier
  readonly #keyUse: KeyUse
  readonly #buckets: { readonly authority: Bucket; readonly edge: Bucket }

  constructor(
    db: Queryable,
    clock: Clock,
    tokens: TokenVerifier,
    buckets: { readonly authority: Bucket; readonly edge: Bucket },
  ) {
    this.#db = db
    this.#clock = clock
    this.#tokens = tokens
    this.#keyUse = new KeyUse(db, clock)
    this.#buckets = buckets
  }

  async judge(request: {
    readonly bearer: string
    readonly clientAddress: string
    readonly metered?: boolean
  }): Promise<Verdict> {
    const presented = await present(request.bearer, 'api', this.#tokens)
    const { authority, edge } = this.#buckets
    const row = await judge<JudgementRow>(this.#db, 'judge_bearer', [
      presented.kind,
      presented.digest,
      presented.subject,
      presented.membership,
      presented.signIn,
      presented.setup,
      addressBucket(request.clientAddress),
      this.#clock.now(),
      request.metered ?? true,
      authority.burst,
      authority.perMinute,
      edge.burst,
      edge.perMinute,
    ])
    const bucket = { burst: row.rate_burst ?? authority.burst, perMinute: row.rate_per_minute ?? authority.perMinute }
    const remaining = row.remaining ?? bucket.burst
    switch (row.outcome) {
      case 'invalid':
        return { kind: 'invalid' }
      case 'svc-cloud-auth':
        return limited(row.outcome, edge, remaining)
      case 'svc-cloud':
        return limited(row.outcome, bucket, remaining)
      case 'granted':
        if (row.api_key_id !== null) await this.#keyUse.note(row.api_key_id)
        return {
          kind: 'granted',
          principal: principalOf(row, presented),
          metering: metering('svc-cloud', bucket, remaining),
        }
    }
  }
}

function principalOf(row: JudgementRow, presented: Presented): Principal {
  const { principal_id: id, organization_id: organizationId } = row
  if (id === null || organizationId === null) throw new Error('granted to nobody')
  const grant = {
    id,
    organizationId,
    capabilities: grantedCapabilities(row.capabilities, row.cloud_access === true),
    expiresAt: row.expires_at ?? presented.expiresAt,
  }
  if (row.principal_kind !== 'person') return { kind: 'app_installation', ...grant }
  if (row.membership_id === null || row.role === null || presented.signIn === null) throw new Error('not a member')
  return {
    kind: 'person',
    ...grant,
    membershipId: row.membership_id,
    signInId: presented.signIn,
    role: row.role,
    permissions: heldPermissions(row.role, row.permissions),
  }
}
