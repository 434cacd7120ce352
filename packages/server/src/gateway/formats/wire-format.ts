import type { Json } from '../../kit/json.ts'
import type { MemberPlace } from '../../kit/json-splice.ts'
import type { GatewayUsage, ResolvedModel } from '../providers/upstream.ts'
import type { StreamTap } from './stream-tap.ts'

/** Members that a format may set in a request's body. */
export const setMembers = ['model', 'messages', 'input', 'stream_options', 'generateContentRequest'] as const

/** A request as its format sees it. */
export interface FormattedRequest {
  readonly body: Json
  /** The body as it came. */
  readonly bytes: Buffer
  /** Where the members stand that a format may set, if that is known. */
  readonly places?: readonly MemberPlace[] | undefined
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
  readonly members: Readonly<Partial<Record<(typeof setMembers)[number], string>>>
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
