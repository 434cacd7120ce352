import type { Readable } from 'node:stream'
import type {
  AccountOperationId,
  AssertionOperationId,
  BrowserOperationId,
  Dialect,
  GatewayOperationId,
  GuardedOperationId,
  OptionalOperationId,
  PersonOperationId,
  RequestBody,
  RequestHeaders,
  RequestParams,
  RequestQuery,
  routes,
  SignedOperationId,
} from '@berth/contract'
import type { BrowserSession } from '../../identity/guard/browser-authority.ts'
import type { GatewayCaller } from '../../identity/guard/gateway-caller.ts'
import type { PersonPrincipal, Principal } from '../../identity/guard/principal.ts'

/** A form or an octet stream, unread. */
export interface StreamBody {
  readonly stream: Readable
  /**
   * Yields the content of an octet stream. Reading it throws ApiError 413 `request_entity_too_large` for more than
   * `mostBytes`, 408 `request_timeout` for a client that is too slow, 503 `service_unavailable` if the process has no
   * room for another body, and ClientLeft if the client breaks off.
   */
  bytes(mostBytes: number): AsyncIterable<Buffer>
  /** Returns a buffer for the form's content. `append` returns false, and keeps nothing, if the budget has no room. */
  keep(mostBytes: number): { append(chunk: Buffer): boolean; take(): Buffer }
  /** Calls `late` once if the stream delivers almost nothing for a long time. */
  watch(late: () => void): Disposable
}

/** A request that has passed the guard, with its parts validated by the contract. */
export interface HandlerRequest<Id extends GuardedOperationId> {
  readonly params: RequestParams<Id>
  readonly query: RequestQuery<Id>
  /** A form and an octet stream arrive unread. */
  readonly body: (typeof routes)[Id] extends { readonly form: object } | { readonly octets: object }
    ? StreamBody
    : RequestBody<Id>
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The headers that the contract defines as parameters, parsed. */
  readonly headerParams: RequestHeaders<Id>
  readonly principal: Principal
  /** The browser that the cookie stands for; null for bearers. */
  readonly browser: BrowserSession | null
  readonly clientAddress: string
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal
  /**
   * Checks the same credential again without taking a token, because a stream can outlive a revocation. Rejects if the
   * answer is unknown; callers must not treat that as a refusal.
   */
  stillAuthorized(): Promise<boolean>
}

/**
 * The reply of a handler: a value to serialise by the contract, finished JSON text, bytes, nothing, or server-sent
 * events. A handler that replies with bytes sets their content type itself.
 */
export type Reply =
  | { readonly status: number; readonly body: unknown; readonly headers?: Readonly<Record<string, string>> }
  | { readonly status: number; readonly json: string; readonly headers?: Readonly<Record<string, string>> }
  | { readonly status: number; readonly bytes: Readable; readonly headers: Readonly<Record<string, string>> }
  | { readonly status: 204 | 304; readonly headers?: Readonly<Record<string, string>> }
  | { readonly events: AsyncIterable<string | Uint8Array>; readonly headers?: Readonly<Record<string, string>> }

export type Handler<Id extends GuardedOperationId> = (request: HandlerRequest<Id>) => Promise<Reply>

/** A handler without the types of its operation; the contract has already checked its request. */
export type AnyHandler = (request: unknown) => Promise<Reply>

/** A request of a person after the guard. */
export interface PersonRequest<Id extends PersonOperationId> {
  readonly params: RequestParams<Id>
  readonly query: RequestQuery<Id>
  readonly body: RequestBody<Id>
  readonly principal: PersonPrincipal
  /** The browser that the cookie stands for; null for bearers. */
  readonly browser: BrowserSession | null
  readonly clientAddress: string
}

export type PersonHandler<Id extends PersonOperationId> = (request: PersonRequest<Id>) => Promise<Reply>

/** A request of a browser that is signed in to the console. */
export interface BrowserRequest<Id extends BrowserOperationId> {
  readonly params: RequestParams<Id>
  readonly body: RequestBody<Id>
  readonly browser: BrowserSession
  readonly clientAddress: string
}

/** One handler for each operation of a browser that is signed in. */
export type BrowserHandlers = {
  readonly [Id in BrowserOperationId]: (request: BrowserRequest<Id>) => Promise<Reply>
}

/** A request of an app's backend. The handler judges the assertion. */
export interface AssertionRequest<Id extends AssertionOperationId> {
  readonly params: RequestParams<Id>
  readonly body: RequestBody<Id>
  readonly clientAddress: string
}

export type AssertionHandler<Id extends AssertionOperationId> = (request: AssertionRequest<Id>) => Promise<Reply>

/** A request that its sender has signed. The handler judges the signature. */
export interface SignedRequest<Id extends SignedOperationId> {
  readonly params: RequestParams<Id>
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The body as it arrived, unread. */
  readonly bytes: Buffer
}

export type SignedHandler<Id extends SignedOperationId> = (request: SignedRequest<Id>) => Promise<Reply>

/** One handler for each operation that the account service answers. */
export type AccountHandlers = {
  readonly [Id in AccountOperationId]: Id extends PersonOperationId
    ? PersonHandler<Id>
    : Id extends AssertionOperationId
      ? AssertionHandler<Id>
      : never
}

/** The account service's operations for people, which the console also serves. */
export type AccountPersonHandlers = Pick<AccountHandlers, Extract<AccountOperationId, PersonOperationId>>

/** The operations for people that the API answers. */
export type ApiPersonOperationId = Exclude<PersonOperationId, AccountOperationId>

type AllHandlers = { readonly [Id in GuardedOperationId]: Handler<Id> } & {
  readonly [Id in ApiPersonOperationId]: PersonHandler<Id>
} & { readonly [Id in SignedOperationId]: SignedHandler<Id> }

/**
 * One handler for each guarded operation of the route table; a missing one does not compile, unless a build may leave it
 * out. The HTTP layer itself serves the public operations, from the contract alone.
 */
export type Handlers = Omit<AllHandlers, OptionalOperationId> & Partial<Pick<AllHandlers, OptionalOperationId>>

/** A gateway request that has passed the guard, with its body validated by the contract. */
export interface GatewayRequest {
  /** The request id, also in the response's `x-request-id`. */
  readonly id: string
  readonly caller: GatewayCaller
  /** The provider whose client sent the request. */
  readonly dialect: Dialect
  readonly params: Readonly<Record<string, unknown>>
  readonly query: Readonly<Record<string, unknown>>
  /** The headers that the contract defines. */
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Readonly<Record<string, unknown>>
  /** The same, for JSON.stringify alone: it keeps numbers that JavaScript cannot hold. */
  readonly exactBody: Readonly<Record<string, unknown>>
  /** Aborted when the client leaves, or with a refusal as its reason when the service stops. */
  readonly signal: AbortSignal
}

/** The gateway's reply: bytes, or a stream of pieces, each complete in the wire format. */
export interface GatewayReply {
  readonly contentType: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: Buffer | string | AsyncIterable<Uint8Array | string>
}

/** The gateway's operations. */
export type GatewayHandlers = {
  readonly [Id in GatewayOperationId]: (request: GatewayRequest) => Promise<GatewayReply>
}
