import type { Json } from './json.ts'
import type { StreamTap } from './stream-tap.ts'
import type { GatewayUsage, ResolvedModel } from './upstream.ts'

/** A request as its format sees it. */
export interface FormattedRequest {
  readonly body: Json
  /** The body as it came. */
  readonly bytes: Buffer
  /** Whether its answer comes as server-sent events. */
  readonly streams: boolean
  /** Parameters that are passed on. */
  readonly query: Json
  readonly model: ResolvedModel
}

/** What a request becomes at a provider. */
export interface ProviderCall {
  /** Below the provider's base URL. */
  readonly path: string
  /** What is set in the body, which stays as it came otherwise: JSON text by name. */
  readonly members: Readonly<Record<string, string>>
}

/** All that is particular to a format that is passed through. */
export interface WireFormat {
  call(request: FormattedRequest): ProviderCall
  /** A provider's whole answer as the client gets it; null where it is none. */
  whole(answer: Json, bytes: Buffer, request: FormattedRequest): { body: Buffer; usage: GatewayUsage | null } | null
  tap(request: FormattedRequest): StreamTap
}

/** A format in which tokens can be counted as well. */
export interface CountingFormat extends WireFormat {
  countCall(request: FormattedRequest): ProviderCall
}
