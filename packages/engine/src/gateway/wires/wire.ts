import type {
  Api,
  AssistantMessageEventStream,
  Model,
  SimpleStreamOptions,
  TranscriptContext,
} from '@earendil-works/pi-ai'
import type { ModelFacts } from '../model-facts.ts'

/** A format in which the gateway serves models. */
export type WireName = 'responses' | 'messages' | 'generate'

/** One request to a model. */
export interface WireRequest {
  readonly model: Model<Api>
  readonly facts: ModelFacts
  readonly context: TranscriptContext
  /** Their `reasoning` is the effort; absent for the model's default. */
  readonly options: SimpleStreamOptions
  readonly fetch: typeof fetch
  readonly outputTokensLeft: number
}

/** Asks a model in one format. */
export type Wire = (request: WireRequest) => AssistantMessageEventStream

/**
 * Returns the format in which a model is asked: its provider's own, so that nothing is lost in a translation. A provider
 * that speaks Chat Completions is asked in Responses, which has a field for reasoning; the gateway translates it if need be.
 * @param native the formats that the gateway passes through
 */
export function wireOf(native: readonly unknown[]): WireName {
  if (native.includes('chat') || native.includes('responses')) return 'responses'
  if (native.includes('messages')) return 'messages'
  return native.includes('generate') ? 'generate' : 'responses'
}
