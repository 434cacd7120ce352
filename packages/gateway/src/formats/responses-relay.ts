import type { GatewayUsage } from '@berth/core/accounting/upstream.ts'
import { parseExactly } from '@berth/core/http/body/exact-numbers.ts'
import { asObject, isObject, type Json, parseObject } from '@berth/platform/kit/json.ts'
import type { UpstreamError } from '@berth/platform/kit/upstream-error.ts'
import { upstreamReason } from '../providers/upstream-reason.ts'
import { frameData } from './frame-splitter.ts'
import { requestedFields } from './requested-fields.ts'
import { readUsage, type StreamRelay } from './stream-relay.ts'

/** Limit of the items kept for the terminal event of a failed stream; later items are left out of it. */
const maxKeptBytes = 4 * 1024 ** 2
const terminal: ReadonlySet<unknown> = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** Returns the text of a response's messages. OpenAI's libraries compute this on the client. */
export function outputText(output: unknown): string {
  if (!Array.isArray(output)) return ''
  return output
    .filter(item => isObject(item) && item['type'] === 'message')
    .flatMap(item => (Array.isArray(item['content']) ? item['content'] : []))
    .map(part => (isObject(part) && part['type'] === 'output_text' ? part['text'] : ''))
    .join('')
}

/**
 * Relays a Responses stream. It rewrites frames that carry the whole response. Of other frames it reads
 * only finished items, which a terminal event for a broken stream needs.
 */
export class ResponsesRelay implements StreamRelay {
  begun = false
  done = false
  failed = false
  usage: GatewayUsage | null = null
  readonly #model: string
  readonly #body: Json
  #response: Json | null = null
  #items: Json[] = []
  #keptBytes = 0
  #last: Buffer | null = null
  #error: string | null = null

  /**
   * @param model the id that the client asked for
   * @param body the client's request
   */
  constructor(model: string, body: Json) {
    this.#model = model
    this.#body = body
  }

  take(frame: Buffer): Buffer | string | null {
    if (!this.begun) this.begun = frame.includes('.delta"')
    if (frame.includes('"response":')) {
      const rewritten = this.#takeResponse(frame)
      if (rewritten !== null) return rewritten
    }
    if (frame.includes('"sequence_number"')) this.#last = frame
    else if (frameData(frame).trim() === '[DONE]') return null
    if (frame.includes('"response.output_item.done"')) this.#keepItem(frame)
    if (frame.includes('"error"')) return this.#takeError(frame)
    return frame
  }

  end(): string | null {
    return null
  }

  fail(error: UpstreamError): string {
    const message = this.#error ?? error.message
    const response = {
      ...blankResponse(this.#body),
      ...this.#response,
      model: this.#model,
      status: 'failed',
      error: { code: error.code, message },
      output: this.#items,
      output_text: outputText(this.#items),
    }
    return frameOf({ type: 'response.failed', response, sequence_number: this.#nextNumber() })
  }

  #takeResponse(frame: Buffer): string | null {
    const text = frameData(frame)
    const data = parseObject(text)
    const response = data?.['response']
    if (data === null || !isObject(response) || !String(data['type']).startsWith('response.')) return null
    this.#last = frame
    const exact = asObject(parseExactly(Buffer.from(text))?.exact['response'])
    const whole = { ...exact, model: this.#model, output_text: outputText(response['output']) }
    if (!terminal.has(data['type'])) {
      this.#response = whole
      return frameOf({ ...data, response: whole })
    }
    this.done = true
    this.failed = data['type'] === 'response.failed'
    this.usage = readUsage(response['usage'])
    if (!this.failed) return frameOf({ ...data, response: whole })
    return frameOf({ ...data, response: { ...whole, error: cleanError(exact['error']) } })
  }

  /**
   * Rewrites OpenAI's `error` event. It does not end the stream; the terminal event that must follow repeats its
   * message.
   */
  #takeError(frame: Buffer): Buffer | string {
    const data = parseObject(frameData(frame))
    if (data === null || data['type'] !== 'error') return frame
    this.failed = true
    const clean = cleanError(data)
    this.#error = String(clean['message'])
    return frameOf({ ...data, ...clean })
  }

  #keepItem(frame: Buffer): void {
    this.#keptBytes += frame.length
    const item = this.#keptBytes > maxKeptBytes ? null : parseObject(frameData(frame))?.['item']
    if (isObject(item)) this.#items.push(item)
  }

  #nextNumber(): number {
    const last = this.#last === null ? null : parseObject(frameData(this.#last))?.['sequence_number']
    return typeof last === 'number' ? last + 1 : 0
  }
}

const frameOf = (data: Json): string => `event: ${data['type']}\ndata: ${JSON.stringify(data)}\n\n`

function cleanError(error: unknown): Json {
  const fields = asObject(error)
  const message = typeof fields['message'] === 'string' ? fields['message'] : 'The provider failed.'
  return { ...fields, message: upstreamReason(message) }
}

/** Returns a complete response resource for a stream that broke before any response arrived. */
const blankResponse = (body: Json): Json => ({
  id: 'resp_none',
  object: 'response',
  created_at: 0,
  completed_at: null,
  incomplete_details: null,
  ...requestedFields(body),
  usage: null,
})
