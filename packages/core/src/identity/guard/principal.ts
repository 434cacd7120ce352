import type { Capability, Permission, Role } from '@berth/contract'

interface Grant {
  /** Installation id or person id. */
  readonly id: string
  readonly organizationId: string
  readonly capabilities: ReadonlySet<Capability>
  /** When the credential expires by itself; its streams end then. */
  readonly expiresAt: Date | null
}

/** An app's or an integration's installation in one organization. */
export interface InstallationPrincipal extends Grant {
  readonly kind: 'app_installation'
}

/** A person, as a member of one organization. */
export interface PersonPrincipal extends Grant {
  readonly kind: 'person'
  readonly membershipId: string
  readonly signInId: string
  readonly role: Role
  readonly permissions: ReadonlySet<Permission>
  /** As an account service with another database told it; absent if this database knows. */
  readonly profile?: PersonProfile
}

/** How a person is shown. */
export interface PersonProfile {
  readonly name: string
  readonly email: string
  /** Name of the organization. */
  readonly organization: string
}

/** Who a request acts for, resolved live for each request. */
export type Principal = InstallationPrincipal | PersonPrincipal

/** State of the bucket that a request took a token from. */
export interface Metering {
  readonly policy: 'svc-cloud' | 'svc-ai' | 'svc-cloud-auth' | 'svc-auth-token'
  readonly remaining: number
  readonly burst: number
  readonly perMinute: number
  /** Seconds until the bucket is full again. */
  readonly resetSeconds: number
}

/** The guard's verdict. */
export type Verdict =
  | { readonly kind: 'granted'; readonly principal: Principal; readonly metering: Metering }
  | { readonly kind: 'invalid' }
  /**
   * The bucket of the installation or membership (`svc-cloud`) or of the client's address (`svc-cloud-auth`) is empty.
   */
  | { readonly kind: 'limited'; readonly metering: Metering; readonly retryAfterSeconds: number }

/** Resolves a bearer credential and meters the request in one round trip. */
export interface Authority {
  /**
   * `metered: false` judges without taking a token, and is never `limited`.
   *
   * @throws MeteringFault if the bucket cannot be read; any other error means that the database is away
   */
  judge(request: {
    readonly bearer: string
    readonly clientAddress: string
    readonly metered?: boolean
  }): Promise<Verdict>
}

/** The rate limiter failed. The API answers 503 `cloud_rate_limit_unavailable`, and never goes on unmetered. */
export class MeteringFault extends Error {
  override readonly name = 'MeteringFault'
}
