import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { Clock } from '@berth/platform/kit/clock.ts'

/** The formats that every model is served in. */
export type TranslatedWire = 'chat' | 'responses'

/** The formats that the gateway speaks. Anthropic's and Google's reach only providers that speak them. */
export type Wire = TranslatedWire | CountedWire

/** The formats that can also count tokens. */
export type CountedWire = 'messages' | 'generate'

/** US dollars per million tokens. */
export interface TokenPrice {
  readonly input: number
  readonly cachedInput: number
  readonly cacheWrite: number
  readonly output: number
}

/** The price of a model as an operator or its provider states it. */
export type StatedPrice = Omit<TokenPrice, 'cacheWrite'> & { readonly cacheWrite?: number | undefined }

/** The model that a request resolved to. */
export interface ResolvedModel {
  /** The client's name for it, a catalog id or an alias; answers carry it as `model`. */
  readonly id: string
  /** `<provider id>/<model id>`; differs from `id` behind an alias and after a fallback. */
  readonly catalogId: string
  /** Id of the provider. */
  readonly provider: string
  readonly kind: 'openai' | 'anthropic' | 'google' | 'openai-compatible'
  /** The provider's name for it. */
  readonly model: string
  /** The formats that its provider speaks natively. */
  readonly wire: readonly Wire[]
  readonly contextTokens: number | undefined
  readonly outputTokens: number | undefined
  readonly tools: boolean
  readonly reasoning: boolean
  readonly modalities: readonly ('text' | 'image' | 'audio' | 'file')[]
  /** Absent if unpriced; the cost of its answers is then unknown. */
  readonly price: TokenPrice | undefined
}

/** Tokens of one request. Those read from a cache and written to it are part of the input, reasoning is part of the output. */
export interface GatewayUsage {
  readonly inputTokens: number
  readonly cachedInputTokens: number
  readonly cacheWriteTokens: number
  readonly outputTokens: number
  readonly reasoningTokens: number
}

/** Usage as the provider of one request reports it. */
export interface ReportedUsage extends GatewayUsage {
  /** Those of the written that stay for an hour; absent if there are none. */
  readonly hourWriteTokens?: number
}

export const noUsage: GatewayUsage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
}

/** The input of a translated call. */
export interface TranslatedCall {
  /** The format that the client speaks. */
  readonly wire: TranslatedWire
  /** The client's body, valid by its schema. */
  readonly body: Readonly<Record<string, unknown>>
  readonly model: ResolvedModel
  readonly languageModel: LanguageModelV4
  /** The request's organization. Content sealed for one organization is useless to another. */
  readonly organizationId: string
  /** Aborted if the client leaves or the time is up. */
  readonly signal: AbortSignal
  /** Makes an id with a prefix, such as `resp` or `msg`. */
  readonly ids: (prefix: string) => string
  readonly clock: Clock
  /** Seals text so that only this deployment can open it, in the same context. */
  readonly seal: (plaintext: string, context: string) => string
  /** @throws Error if the text was altered, or sealed elsewhere or for another context */
  readonly open: (sealed: string, context: string) => string
  /** Runs before the client gets the last piece of a stream. The usage of a failed stream may be partial. */
  readonly beforeEnd: (usage: GatewayUsage | null, failed: boolean) => Promise<void>
}

/**
 * The answer of a translated call. `frames` are whole server-sent events, including the terminal one or `[DONE]`. If
 * the provider fails, they report it in the format and end without throwing. If the client leaves, they throw the
 * signal's reason. `usage` settles when the frames end or are abandoned, and never rejects. It is null if the provider
 * did not report it.
 */
export type TranslatedAnswer =
  | { readonly kind: 'json'; readonly body: Readonly<Record<string, unknown>>; readonly usage: GatewayUsage | null }
  | {
      readonly kind: 'stream'
      readonly frames: AsyncIterable<string>
      readonly usage: Promise<GatewayUsage | null>
    }

/**
 * Serves a request through a provider that does not speak its format.
 * @throws UpstreamError before the first byte
 */
export type CallTranslated = (call: TranslatedCall) => Promise<TranslatedAnswer>
