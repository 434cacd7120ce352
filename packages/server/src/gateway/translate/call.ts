import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'

/** A request as the provider's package takes it. */
export interface Call {
  readonly options: LanguageModelV4CallOptions
  /** Only the first call of an answer counts: the client wants no parallel ones, and the provider knows no such control. */
  readonly oneCall: boolean
}
