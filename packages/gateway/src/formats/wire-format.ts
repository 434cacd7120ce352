import type { GatewayUsage, ResolvedModel } from '@berth/core/accounting/upstream.ts'
import type { Json } from '@berth/platform/kit/json.ts'
import type { StreamRelay } from './stream-relay.ts'

const formatMembers = ['model', 'messages', 'input', 'stream_options', 'generateContentRequest'] as const

/** The parts of a request that a format needs. */
export interface FormattedRequest {
  readonly body: Json
  /** Whether the answer is a stream of server-sent events. */
  readonly streams: boolean
  /** Query parameters to pass on. */
  readonly query: Json
  readonly model: ResolvedModel
}

/** The request that goes to a provider. */
export interface ProviderCall {
  /** Relative to the provider's base URL. */
  readonly path: string
  /** The members to replace; the rest of the body stays as received. */
  readonly members: Readonly<Partial<Record<(typeof formatMembers)[number], unknown>>>
}

/** Everything specific to a format that the gateway passes through. */
export interface WireFormat {
  call(request: FormattedRequest): ProviderCall
  /** Returns the client's version of a provider's whole answer, or null if the answer is invalid. */
  whole(answer: Json, request: FormattedRequest): { body: Json; usage: GatewayUsage | null } | null
  relay(request: FormattedRequest): StreamRelay
}

/** A format that can also count tokens. */
export interface CountingFormat extends WireFormat {
  countCall(request: FormattedRequest): ProviderCall
}
