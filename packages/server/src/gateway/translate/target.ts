import type { ResolvedModel } from '../providers/upstream.ts'

/** What a request is translated for: the model, and what its provider package says of it. */
export interface Target {
  readonly model: ResolvedModel
  /** URLs by media type that the provider fetches itself. The gateway fetches nothing that a request names. */
  readonly urls: Readonly<Record<string, readonly RegExp[]>>
  /** Whether an OpenAI-compatible endpoint takes schemas for its answers. */
  readonly structuredOutputs: boolean
  /** The package is OpenAI's own, not the one for whatever is compatible. */
  readonly native: boolean
  /** Name under which the provider's package reads its own options. */
  readonly optionsName: string
}

/** Whether a provider speaks OpenAI's Chat Completions, behind whatever package. */
export function speaksChat({ kind }: ResolvedModel): boolean {
  return kind === 'openai-compatible' || kind === 'openai'
}
