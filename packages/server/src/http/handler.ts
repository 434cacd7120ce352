import type { OperationId, RequestBody, RequestParams, RequestQuery } from '@berth/contract'
import type { Principal } from '../identity/principal.ts'

/** A request after the guard, its parts validated by the contract. */
export interface HandlerRequest<Id extends OperationId> {
  readonly params: RequestParams<Id>
  readonly query: RequestQuery<Id>
  readonly body: RequestBody<Id>
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly principal: Principal
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal
  /** Judges the same credential again without taking a token, for streams that outlive a revocation. */
  stillAuthorized(): Promise<boolean>
}

/** What a handler answers: a value to serialise by the contract, JSON text to send as it is, or server-sent events. */
export type Reply =
  | { readonly status: number; readonly body: unknown; readonly headers?: Readonly<Record<string, string>> }
  | { readonly status: number; readonly json: string; readonly headers?: Readonly<Record<string, string>> }
  | { readonly status: 204; readonly headers?: Readonly<Record<string, string>> }
  | { readonly events: AsyncIterable<string>; readonly headers?: Readonly<Record<string, string>> }

export type Handler<Id extends OperationId> = (request: HandlerRequest<Id>) => Promise<Reply>

/** Exactly one handler for each operation of the route table; a missing one does not compile. */
export type Handlers = { readonly [Id in OperationId]: Handler<Id> }
