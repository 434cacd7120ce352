import type { GatewayUsage, TranslatedCall } from '@berth/core/accounting/upstream.ts'
import type { Json } from '@berth/platform/kit/json.ts'
import { requestedFields } from '../formats/requested-fields.ts'
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
    const head = { id: this.id, object: 'response', created_at: createdAt, model: model.id }
    this.#fixed = { ...head, ...requestedFields(body) }
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
