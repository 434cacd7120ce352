import type { Readable } from 'node:stream'
import type {
  GatewayOperationId,
  GuardedOperationId,
  RequestBody,
  RequestHeaders,
  RequestParams,
  RequestQuery,
  routes,
} from '@berth/contract'
import type { GatewayCaller } from '../../identity/guard/gateway-caller.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import type { MemberPlace } from '../../kit/json-splice.ts'

/** A form as it is sent, unread. */
export interface FormBody {
  readonly stream: Readable
  /** Gathers what the handler keeps of it; `append` is false, and nothing kept, if there is no room. */
  keep(mostBytes: number): { append(chunk: Buffer): boolean; take(): Buffer }
  /** Calls `late` once if the stream brings next to nothing for long. */
  watch(late: () => void): Disposable
}

/** A request after the guard, its parts validated by the contract. */
export interface HandlerRequest<Id extends GuardedOperationId> {
  readonly params: RequestParams<Id>
  readonly query: RequestQuery<Id>
  /** A form comes as it was sent, unread. */
  readonly body: (typeof routes)[Id] extends { readonly form: object } ? FormBody : RequestBody<Id>
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The headers that the contract names as parameters, parsed. */
  readonly headerParams: RequestHeaders<Id>
  readonly principal: Principal
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal
  /**
   * Judges the same credential again without taking a token, for streams that outlive a revocation. Rejects when the
   * answer is unknown, which never counts as a no.
   */
  stillAuthorized(): Promise<boolean>
}

/**
 * What a handler answers: a value to serialise by the contract, JSON text to send as it is, bytes, nothing, or
 * server-sent events. A handler that answers bytes says what they are in its headers.
 */
export type Reply =
  | { readonly status: number; readonly body: unknown; readonly headers?: Readonly<Record<string, string>> }
  | { readonly status: number; readonly json: string; readonly headers?: Readonly<Record<string, string>> }
  | { readonly status: number; readonly bytes: Readable; readonly headers: Readonly<Record<string, string>> }
  | { readonly status: 204 | 304; readonly headers?: Readonly<Record<string, string>> }
  | { readonly events: AsyncIterable<string | Uint8Array>; readonly headers?: Readonly<Record<string, string>> }

export type Handler<Id extends GuardedOperationId> = (request: HandlerRequest<Id>) => Promise<Reply>

/**
 * Exactly one handler for each guarded operation of the route table; a missing one does not compile. The public ones
 * answer from the contract alone and are the HTTP layer's own.
 */
export type Handlers = { readonly [Id in GuardedOperationId]: Handler<Id> }

/** A request of the gateway after its guard, its body validated by the contract. */
export interface GatewayRequest {
  /** Also that of the answer's `x-request-id`. */
  readonly id: string
  readonly caller: GatewayCaller
  readonly params: Readonly<Record<string, unknown>>
  readonly query: Readonly<Record<string, unknown>>
  /** Those that the contract names. */
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Readonly<Record<string, unknown>>
  /** The body as it came. */
  readonly bytes: Buffer
  /** Where members stand in a large body that the gateway may set. */
  readonly places?: readonly MemberPlace[] | undefined
  /** Whether a worker of this process made it, which waits for what its Runs have used to be kept. */
  readonly handedOver: boolean
  /** Aborted when the client leaves, with an error as its reason where the service stops. */
  readonly signal: AbortSignal
}

/** What the gateway answers: bytes at once, or pieces as they come, each of them whole in the format that it speaks. */
export interface GatewayReply {
  readonly contentType: string
  readonly body: Buffer | string | AsyncIterable<Uint8Array | string>
}

/** The gateway's operations. */
export type GatewayHandlers = {
  readonly [Id in GatewayOperationId]: (request: GatewayRequest) => Promise<GatewayReply>
}
