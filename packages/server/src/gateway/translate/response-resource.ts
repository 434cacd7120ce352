import { isObject, type Json } from '../../kit/json.ts'
import type { GatewayUsage, TranslatedCall } from '../providers/upstream.ts'
import { responsesUsage } from './usage.ts'

export type ResponseStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed'

/** The parts of a response that change while it is made. */
export interface ResponseProgress {
  readonly status: ResponseStatus
  readonly output: readonly Json[]
  readonly outputText: string
  readonly usage: GatewayUsage | null
  readonly completedAt: number | null
  readonly incompleteReason?: string
  readonly error?: { readonly code: string; readonly message: string }
}

/**
 * Renders a response with every field that OpenAI's clients expect, null if there is no value. The part that the
 * request fixes is serialised once, however often a stream repeats it.
 */
export class ResponseResource {
  readonly id: string
  readonly #fixed: Json
  #fixedText: string | undefined

  constructor(call: TranslatedCall, createdAt: number) {
    const { body, model } = call
    this.id = call.ids('resp')
    const reasoning = isObject(body['reasoning']) ? body['reasoning'] : {}
    const text = isObject(body['text']) ? body['text'] : {}
    const tools = Array.isArray(body['tools']) ? body['tools'] : []
    this.#fixed = {
      id: this.id,
      object: 'response',
      created_at: createdAt,
      model: model.id,
      access_programs: null,
      background: false,
      conversation: null,
      instructions: body['instructions'] ?? null,
      max_output_tokens: body['max_output_tokens'] ?? null,
      max_tool_calls: null,
      metadata: body['metadata'] ?? {},
      moderation: null,
      parallel_tool_calls: body['parallel_tool_calls'] ?? true,
      previous_response_id: null,
      prompt: null,
      prompt_cache_key: body['prompt_cache_key'] ?? null,
      prompt_cache_retention: body['prompt_cache_retention'] ?? null,
      reasoning: {
        effort: reasoning['effort'] ?? null,
        summary: reasoning['summary'] ?? reasoning['generate_summary'] ?? null,
      },
      safety_identifier: body['safety_identifier'] ?? null,
      service_tier: body['service_tier'] ?? 'auto',
      store: false,
      temperature: body['temperature'] ?? null,
      text: { format: { type: 'text' }, verbosity: text['verbosity'] ?? 'medium' },
      tool_choice: body['tool_choice'] ?? 'auto',
      tools: tools.map(toolOf),
      top_logprobs: 0,
      top_p: body['top_p'] ?? null,
      truncation: 'disabled',
      user: body['user'] ?? null,
    }
  }

  object(progress: ResponseProgress): Json {
    return { ...this.#fixed, ...moving(progress) }
  }

  text(progress: ResponseProgress): string {
    this.#fixedText ??= JSON.stringify(this.#fixed).slice(0, -1)
    return `${this.#fixedText},${JSON.stringify(moving(progress)).slice(1)}`
  }
}

function moving({ status, output, outputText, usage, completedAt, incompleteReason, error }: ResponseProgress) {
  return {
    status,
    completed_at: completedAt,
    error: error ?? null,
    incomplete_details: incompleteReason === undefined ? null : { reason: incompleteReason },
    output,
    output_text: outputText,
    usage: usage === null ? null : responsesUsage(usage),
  }
}

function toolOf(tool: unknown): unknown {
  return isObject(tool) ? { description: null, parameters: null, strict: null, ...tool } : tool
}
