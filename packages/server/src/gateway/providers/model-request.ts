import type { GatewayCaller } from '../../identity/guard/gateway-caller.ts'
import type { MemberPlace } from '../../kit/json-splice.ts'
import type { Wire } from './upstream.ts'

/** A request after the guard and the contract. */
export interface ModelRequest {
  readonly id: string
  readonly wire: Wire
  readonly caller: GatewayCaller
  /** The id that the client asks for. */
  readonly modelId: string
  readonly streams: boolean
  readonly body: Readonly<Record<string, unknown>>
  readonly bytes: Buffer
  /** Where the members stand that a format may set, if that is known. */
  readonly places?: readonly MemberPlace[] | undefined
  /** Parameters and headers that are passed on. */
  readonly query: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>
  /** Whoever made it waits for it to be kept, before its Run asks again or ends. */
  readonly handedOver: boolean
  readonly signal: AbortSignal
}
