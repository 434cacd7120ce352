import type { TObject, TSchema, TString } from 'typebox'
import type { Capability, Permission } from './capability.ts'
import type { ErrorCode } from './error.ts'
import type { Dialect } from './gateway/dialect.ts'

export type Method = 'GET' | 'PUT' | 'PATCH' | 'POST' | 'DELETE'

export type Tag =
  | 'Contract'
  | 'Discovery'
  | 'Sessions'
  | 'Turns and Runs'
  | 'Interactions'
  | 'Events'
  | 'Artifacts'
  | 'Publications'
  | 'AI gateway'
  | 'Repositories'
  | 'Transcription'
  | 'Identity'
  | 'Apps'
  | 'Organizations'
  | 'Webhooks'
  | 'Runtime releases'
  | 'Environments'
  | 'Tools'
  | 'Triggers'

/** A success response of an operation. */
export interface Success {
  readonly description: string
  /** Absent if there is no body, or if the body is not JSON. */
  readonly schema?: TSchema
  /** Media types of the body; by default JSON if there is a schema. */
  readonly mediaTypes?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

interface OperationBase {
  readonly method: Method
  /** An OpenAPI path template. */
  readonly path:
    | `/v1/${string}`
    | `/v1beta/${string}`
    | `/cloud/${string}`
    | `/hooks/${string}`
    | `/api/${string}`
    | `/auth/${string}`
    | `/.well-known/${string}`
  readonly summary: string
  readonly description?: string
  readonly tag: Tag
  /** One schema for each `{segment}` of the path. */
  readonly params?: TObject
  /** Flat; each value is a string, an integer, an enum of strings, or a list of strings whose name may be repeated. */
  readonly query?: TObject
  /** Header parameters by lower-case name, under the same rules as `query`. */
  readonly headers?: TObject
  /** The code for invalid query and path values, if it is not the usual one. */
  readonly inputError?: 'invalid_input'
  /** Absent if the operation accepts no body. */
  readonly body?: TObject
  /** Codes for faults in a member of the body, by the member's name; any other fault is `invalid_request`. */
  readonly bodyErrors?: Readonly<Record<string, 'environment_invalid'>>
  /** A multipart form instead of a JSON body; the handler reads it as a stream. */
  readonly form?: TObject
  /** Bytes instead of a JSON body; the handler reads them as a stream and bounds it. */
  readonly octets?: TString
  /** Media type of `octets`; by default `application/octet-stream`. */
  readonly octetsType?: 'application/zip'
  readonly responses: Readonly<Record<number, Success>>
  /** Refusals in the form of another protocol, by status. They come beside the API's own. */
  readonly otherErrors?: Readonly<Record<number, { readonly description: string; readonly schema: TSchema }>>
  /** Codes besides those that every operation of its kind can answer with. */
  readonly errors: readonly ErrorCode[]
}

/** Served without a credential and without a rate limit. */
export interface PublicOperation extends OperationBase {
  readonly access: 'public'
}

/** Requires a bearer credential that holds product access and exactly one more capability. */
export interface GuardedOperation extends OperationBase {
  readonly access: 'bearer'
  readonly capability: Capability
  /** The capability that an installation needs, if it differs from a person's. */
  readonly installationCapability?: Capability
  /** Another capability that suffices for an installation. */
  readonly installationAlternative?: Capability
  /** The permission that a person needs in place of the capability. */
  readonly permission?: Permission
  /** Whether a browser must have signed in within the last ten minutes. Bearers are not asked. */
  readonly recent?: true
  /**
   * Who may call it: people are refused with `installation_principal_required`, installations with
   * `invalid_or_expired_credential`. Absent: both may.
   */
  readonly principal?: 'app_installation' | 'person'
  /** False if the operation acts by the caller's bearer, so that no browser can use it by its cookie. */
  readonly mirrored?: false
}

/** Served by the AI gateway, which has its own credentials, rate limits, body limit and error format. */
export interface GatewayOperation extends OperationBase {
  readonly access: 'gateway'
  readonly capability: Capability
  /** The provider whose clients the operation serves; it decides the key header and the error format. */
  readonly dialect: Dialect
  /** True if clients of other providers use the same path. They are told apart by their headers. */
  readonly shared?: true
}

/** What a person needs for an operation beside a live membership. */
export type PersonNeeds = 'membership' | 'administrator' | Permission

/** For people alone, in the organization of their token. Product access is not asked for. */
export interface PersonOperation extends OperationBase {
  readonly access: 'person'
  readonly needs: PersonNeeds
  /** Whether a browser must have signed in within the last ten minutes. Bearers are not asked. */
  readonly recent?: true
  /** Served at the account service's origin; absent: at the API's. */
  readonly origin?: 'account'
}

/** For a browser that is signed in to the console. */
export interface BrowserOperation extends OperationBase {
  readonly access: 'browser'
}

/** For an app's backend, which names itself by a signed assertion in the body. Metered by the client's address. */
export interface AssertionOperation extends OperationBase {
  readonly access: 'assertion'
  readonly origin: 'account'
}

/**
 * For senders of other systems, which sign the body with a secret of the trigger's. Metered by the client's address until
 * the signature is known; the handler judges it over the bytes as they arrived.
 */
export interface SignedOperation extends OperationBase {
  readonly access: 'signed'
}

/** One row of the route table. */
export type Operation =
  | PublicOperation
  | GuardedOperation
  | GatewayOperation
  | PersonOperation
  | BrowserOperation
  | AssertionOperation
  | SignedOperation

/** Returns the row unchanged; checks its shape and keeps its literal types. */
export const operation = <const T extends Operation>(row: T): T => row

/** Makes rows for bearers with one capability, in one part of the reference. */
export const guarded =
  <const G extends Tag, const C extends Capability>(tag: G, capability: C) =>
  <const T extends Omit<GuardedOperation, 'tag' | 'access' | 'capability'>>(row: T) => ({
    ...row,
    tag,
    access: 'bearer' as const,
    capability,
  })
