import type { Role } from '@berth/contract'
import type { Clock } from '@berth/platform/kit/clock.ts'
import { credentialDigest } from '@berth/platform/storage/master-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { addressBucket } from './address-bucket.ts'
import { grantedCapabilities } from './granted-capabilities.ts'
import { heldPermissions } from './held-permissions.ts'
import { judge } from './judge.ts'
import { type Bucket, limited, metering } from './metering.ts'
import type { Metering, PersonPrincipal } from './principal.ts'

/** How long after proving who they are a person may do what needs a recent sign-in. */
export const RECENT_MS = 10 * 60_000

/** A browser that is signed in to the console. */
export interface BrowserSession {
  readonly id: string
  readonly personId: string
  readonly signInId: string
  readonly endsAt: Date
  /** When the person last proved who they are. */
  readonly signedInAt: Date
  /** Whether that was within the last ten minutes. */
  readonly isRecent: boolean
}

/** The guard's verdict on a browser's request. */
export type BrowserVerdict =
  | {
      readonly kind: 'granted'
      readonly session: BrowserSession
      /** The person as a member of the organization that the request names; null if it names none. */
      readonly principal: PersonPrincipal | null
      readonly metering: Metering
    }
  | { readonly kind: 'invalid' }
  /** The session lives, but its person is no member of the organization. */
  | { readonly kind: 'stranger'; readonly metering: Metering }
  | { readonly kind: 'limited'; readonly metering: Metering; readonly retryAfterSeconds: number }

/** Resolves the cookie of a browser and meters the request in one round trip. */
export interface BrowserAuthority {
  /**
   * `metered: false` judges without taking a token, and does not count as use.
   * @throws MeteringFault if the bucket cannot be read; any other error means that the database is away
   */
  judge(request: {
    readonly cookie: string
    readonly organizationId: string | null
    readonly clientAddress: string
    readonly metered?: boolean
  }): Promise<BrowserVerdict>
}

interface JudgementRow {
  readonly outcome: 'granted' | 'invalid' | 'stranger' | 'svc-cloud' | 'svc-cloud-auth'
  readonly remaining: number | null
  readonly session_id: string
  readonly person_id: string
  readonly sign_in_id: string
  readonly session_expires_at: Date
  readonly signed_in_at: Date
  readonly organization_id: string | null
  readonly role: Role
  readonly permissions: string[] | null
  readonly membership_id: string
  readonly cloud_access: boolean
  readonly rate_burst: number | null
  readonly rate_per_minute: number | null
}

/** Judges cookies by this database. The bucket is the membership's, which the person's tokens take from as well. */
export class DatabaseBrowserAuthority implements BrowserAuthority {
  readonly #db: Queryable
  readonly #clock: Clock
  readonly #limits: { readonly idleMs: number; readonly authority: Bucket; readonly edge: Bucket }

  constructor(
    db: Queryable,
    clock: Clock,
    bounds: { readonly idleMs: number; readonly authority: Bucket; readonly edge: Bucket },
  ) {
    this.#db = db
    this.#clock = clock
    this.#limits = bounds
  }

  async judge(request: Parameters<BrowserAuthority['judge']>[0]): Promise<BrowserVerdict> {
    const { idleMs, authority, edge } = this.#limits
    const now = this.#clock.now()
    const row = await judge<JudgementRow>(this.#db, 'judge_console', [
      credentialDigest(request.cookie),
      request.organizationId,
      addressBucket(request.clientAddress),
      now,
      `${idleMs} milliseconds`,
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
      case 'stranger':
        return { kind: 'stranger', metering: metering('svc-cloud-auth', edge, remaining) }
      case 'svc-cloud-auth':
        return limited(row.outcome, edge, remaining)
      case 'svc-cloud':
        return limited(row.outcome, bucket, remaining)
      case 'granted': {
        const principal = principalOf(row)
        return {
          kind: 'granted',
          session: {
            id: row.session_id,
            personId: row.person_id,
            signInId: row.sign_in_id,
            endsAt: row.session_expires_at,
            signedInAt: row.signed_in_at,
            isRecent: now.getTime() - row.signed_in_at.getTime() <= RECENT_MS,
          },
          principal,
          metering:
            principal === null ? metering('svc-cloud-auth', edge, remaining) : metering('svc-cloud', bucket, remaining),
        }
      }
    }
  }
}

function principalOf(row: JudgementRow): PersonPrincipal | null {
  if (row.organization_id === null) return null
  return {
    kind: 'person',
    id: row.person_id,
    organizationId: row.organization_id,
    capabilities: grantedCapabilities(null, row.cloud_access),
    expiresAt: row.session_expires_at,
    membershipId: row.membership_id,
    signInId: row.sign_in_id,
    role: row.role,
    permissions: heldPermissions(row.role, row.permissions),
  }
}
