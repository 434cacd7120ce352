import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { Clock } from '../../kit/clock.ts'

/** The formats that any model is served in (interface 4.12). */
export type TranslatedWire = 'chat' | 'responses'

/** The formats that the gateway speaks: Anthropic's and Google's only to providers that speak them, too. */
export type Wire = TranslatedWire | CountedWire

/** Those in which tokens can be counted, too. */
export type CountedWire = 'messages' | 'generate'

/** US dollars per million tokens. */
export interface TokenPrice {
  readonly input: number
  readonly cachedInput: number
  readonly output: number
}

/** A model that a request was resolved to. */
export interface ResolvedModel {
  /** As the client asked for it, a catalog id or an alias; what answers carry as `model`. */
  readonly id: string
  /** `<provider id>/<model id>`; differs from `id` behind an alias and after a fallback. */
  readonly catalogId: string
  /** Id of the provider. */
  readonly provider: string
  readonly kind: 'openai' | 'anthropic' | 'google' | 'openai-compatible'
  /** What the provider calls it. */
  readonly model: string
  /** The formats that its provider speaks by itself. */
  readonly wire: readonly Wire[]
  readonly contextTokens: number | undefined
  readonly outputTokens: number | undefined
  readonly tools: boolean
  readonly reasoning: boolean
  readonly modalities: readonly ('text' | 'image' | 'audio' | 'file')[]
  /** Absent: the cost of what it answers is unknown. */
  readonly price: TokenPrice | undefined
}

/** Tokens of one request. The cached ones are part of the input, the reasoning ones part of the output. */
export interface GatewayUsage {
  readonly inputTokens: number
  readonly cachedInputTokens: number
  readonly outputTokens: number
  readonly reasoningTokens: number
}

/** What a translated call is made of. */
export interface TranslatedCall {
  /** The format the client speaks. */
  readonly wire: TranslatedWire
  /** The client's body; its schema holds. */
  readonly body: Readonly<Record<string, unknown>>
  readonly model: ResolvedModel
  readonly languageModel: LanguageModelV4
  /** Whose request it is. What is sealed for one organization means nothing to another. */
  readonly organizationId: string
  /** Aborted when the client has left or time is over. */
  readonly signal: AbortSignal
  /** Makes an id with a prefix, such as `resp` or `msg`. */
  readonly ids: (prefix: string) => string
  readonly clock: Clock
  /** Makes opaque text of what only this deployment may read back, in the same context. */
  readonly seal: (plaintext: string, context: string) => string
  /** @throws where the text was altered, or sealed elsewhere or for another context */
  readonly open: (sealed: string, context: string) => string
  /** What must be done before the client gets the last of a stream. The usage of one that failed may be a part. */
  readonly beforeEnd: (usage: GatewayUsage | null, failed: boolean) => Promise<void>
}

/**
 * What a translated call answers. `frames` are whole server-sent events, the terminal one or `[DONE]` included; they do
 * not throw for a failure of the provider, but say it in the format and end. They throw the signal's reason where the
 * client left. `usage` settles when the frames have ended
 * or were left, and never rejects; null where the provider did not tell.
 */
export type TranslatedAnswer =
  | { readonly kind: 'json'; readonly body: Readonly<Record<string, unknown>>; readonly usage: GatewayUsage | null }
  | {
      readonly kind: 'stream'
      readonly frames: AsyncIterable<string>
      readonly usage: Promise<GatewayUsage | null>
    }

/** Serves a request through a provider that does not speak its format. @throws UpstreamError before the first byte */
export type CallTranslated = (call: TranslatedCall) => Promise<TranslatedAnswer>
