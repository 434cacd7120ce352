import type { TObject, TSchema } from 'typebox'
import type { Capability } from './capability.ts'
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

/** A success an operation can answer with. */
export interface Success {
  readonly description: string
  /** Absent where there is no body, or none that is JSON. */
  readonly schema?: TSchema
  /** Media types of the body; JSON where there is a schema. */
  readonly mediaTypes?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

interface OperationBase {
  readonly method: Method
  /** In OpenAPI's template form. */
  readonly path: `/v1/${string}` | `/v1beta/${string}`
  readonly summary: string
  readonly description?: string
  readonly tag: Tag
  /** One schema for each `{segment}` of the path. */
  readonly params?: TObject
  /** Flat; each value a string, an integer or an enum of strings. */
  readonly query?: TObject
  /** Header parameters, by lower-case name, under the same rules as `query`. */
  readonly headers?: TObject
  /** What refused values of its query and path are answered with, where that is not the usual code (interface 7.3). */
  readonly inputError?: 'invalid_input'
  /** Absent: the operation takes no body. */
  readonly body?: TObject
  /** In place of a body of JSON: a multipart form, which its handler reads as it comes. */
  readonly form?: TObject
  readonly responses: Readonly<Record<number, Success>>
  /** Beyond the codes every operation of its kind can give. */
  readonly errors: readonly ErrorCode[]
}

/** Served without a credential and not metered (interface part 1). */
export interface PublicOperation extends OperationBase {
  readonly access: 'public'
}

/** Needs a bearer that holds exactly one capability beside product access (interface 5.2). */
export interface GuardedOperation extends OperationBase {
  readonly access: 'bearer'
  readonly capability: Capability
  /** What an installation needs instead, where that differs from a person (interface 4.10). */
  readonly installationCapability?: Capability
  /** Refuses people with `installation_principal_required`. */
  readonly principal?: 'app_installation'
}

/** Served by the AI gateway: it has credentials, a bucket, a limit of bodies and an error body of its own. */
export interface GatewayOperation extends OperationBase {
  readonly access: 'gateway'
  readonly capability: Capability
  /** Whose clients it is for: they name their key, and read a refusal, in their own way. */
  readonly dialect: Dialect
}

/** One row of the route table. */
export type Operation = PublicOperation | GuardedOperation | GatewayOperation

/** Keeps a row's literal types while checking its shape. */
export const operation = <const T extends Operation>(row: T): T => row
