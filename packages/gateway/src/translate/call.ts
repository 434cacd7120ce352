import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'

/** A request in the form of the provider's package. */
export interface Call {
  readonly options: LanguageModelV4CallOptions
  /** Keep only the first call of an answer: the client refuses parallel calls, but the provider cannot prevent them. */
  readonly oneCall: boolean
}
