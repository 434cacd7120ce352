import type { GatewayCaller } from '../identity/guard/gateway-caller.ts'
import type { Wire } from './upstream.ts'

/** A request that has passed the guard and the contract. */
export interface ModelRequest {
  readonly id: string
  readonly wire: Wire
  readonly caller: GatewayCaller
  /** The id that the client asked for. */
  readonly modelId: string
  readonly streams: boolean
  readonly body: Readonly<Record<string, unknown>>
  /** The same, for JSON.stringify alone: it keeps numbers that JavaScript cannot hold. */
  readonly exactBody: Readonly<Record<string, unknown>>
  /** Query parameters and headers to pass on. */
  readonly query: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}
