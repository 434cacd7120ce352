import type { ResolvedModel } from '@berth/core/accounting/upstream.ts'

/** The target of a translation: the model, and facts about its provider's package. */
export interface Target {
  readonly model: ResolvedModel
  /**
   * Patterns by media type for URLs that the provider fetches itself. The gateway never fetches a URL from a request.
   */
  readonly urls: Readonly<Record<string, readonly RegExp[]>>
  /** Whether the package is OpenAI's own, not the one for compatible endpoints. */
  readonly native: boolean
  /** The name under which the provider's package reads its options. */
  readonly optionsName: string
}

/** Returns whether a provider speaks OpenAI's Chat Completions, through either package. */
export function speaksChat({ kind }: ResolvedModel): boolean {
  return kind === 'openai-compatible' || kind === 'openai'
}
