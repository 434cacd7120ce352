import { type Capability, capabilities } from '@berth/contract'
import type { Clock } from '../../kit/clock.ts'
import { credentialDigest } from '../../storage/master-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import { addressBucket } from './address-bucket.ts'
import { judge } from './judge.ts'
import { type Bucket, limited, metering } from './metering.ts'
import type { Authority, Verdict } from './principal.ts'

interface JudgementRow {
  readonly outcome: 'granted' | 'invalid' | 'svc-cloud' | 'svc-cloud-auth'
  readonly installation_id: string | null
  readonly organization_id: string | null
  readonly capabilities: string[] | null
  readonly expires_at: Date | null
  readonly remaining: number | null
}

/**
 * Resolves credentials and meters requests, live, in one round trip. A revocation takes effect on the next request. A
 * bucket belongs to the installation, so a new key does not refill it. Credentials are looked up by digest, so the
 * timing of the index lookup reveals nothing about a secret.
 */
export class DatabaseAuthority implements Authority {
  readonly #db: Queryable
  readonly #clock: Clock
  readonly #buckets: { readonly authority: Bucket; readonly edge: Bucket }

  constructor(db: Queryable, clock: Clock, buckets: { readonly authority: Bucket; readonly edge: Bucket }) {
    this.#db = db
    this.#clock = clock
    this.#buckets = buckets
  }

  async judge(request: {
    readonly bearer: string
    readonly clientAddress: string
    readonly metered?: boolean
  }): Promise<Verdict> {
    const { authority, edge } = this.#buckets
    const row = await judge<JudgementRow>(this.#db, 'judge_credential', [
      credentialDigest(request.bearer),
      addressBucket(request.clientAddress),
      this.#clock.now(),
      request.metered ?? true,
      authority.burst,
      authority.perMinute,
      edge.burst,
      edge.perMinute,
    ])
    const remaining = row.remaining ?? authority.burst
    switch (row.outcome) {
      case 'invalid':
        return { kind: 'invalid' }
      case 'svc-cloud-auth':
        return limited(row.outcome, edge, remaining)
      case 'svc-cloud':
        return limited(row.outcome, authority, remaining)
      case 'granted':
        if (row.installation_id === null || row.organization_id === null)
          throw new Error('judge_credential granted a request without an installation')
        return {
          kind: 'granted',
          principal: {
            kind: 'app_installation',
            id: row.installation_id,
            organizationId: row.organization_id,
            capabilities: new Set(capabilities.filter((known: Capability) => row.capabilities?.includes(known))),
            expiresAt: row.expires_at,
          },
          metering: metering('svc-cloud', authority, remaining),
        }
    }
  }
}
