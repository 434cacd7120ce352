import type { TranslatedCall } from '@berth/core/accounting/upstream.ts'
import { asObject, isObject, type Json } from '@berth/platform/kit/json.ts'
import { refuse } from '../formats/refuse.ts'
import { readFormat } from './answer-format.ts'
import type { Call } from './call.ts'
import { readControls } from './controls.ts'
import { readInput } from './responses-input.ts'
import { readLimit, readSampling } from './sampling.ts'
import type { Target } from './target.ts'
import { readTools } from './tools.ts'

/** Values of `include` that ask for parts which an answer has anyway. */
const given: ReadonlySet<unknown> = new Set(['reasoning.encrypted_content'])

/** Fields that only OpenAI's own service supports, each with a test for values that request nothing. */
const needless: Readonly<Record<string, (value: unknown) => boolean>> = {
  access_programs: () => false,
  context_management: value => Array.isArray(value) && value.length === 0,
  image: () => false,
  include: value => Array.isArray(value) && value.every(name => given.has(name)),
  max_tool_calls: () => false,
  moderation: () => false,
  prompt: () => false,
  store: value => value === false,
  top_logprobs: value => value === 0,
  truncation: value => value === 'disabled',
}

/**
 * Reads a Responses request.
 * @throws UpstreamError 400 that names an unsupported field
 */
export function readResponsesRequest(call: TranslatedCall, target: Target): Call {
  const { body } = call
  for (const [field, harmless] of Object.entries(needless)) {
    const value = body[field]
    if (value === undefined || value === null || harmless(value)) continue
    throw refuse(field, `${field} is not supported by ${target.model.id}: its provider does not speak Responses.`)
  }
  refuseObfuscation(body)
  const { effort, summary } = readReasoningField(body['reasoning'])
  const text = asObject(body['text'])
  const tools = readTools(body, 'responses')
  const { strict, ...format } = readFormat(text['format'], 'responses', target)
  const { oneCall, ...controls } = readControls(
    body,
    { wire: 'responses', effort, summary, verbosity: text['verbosity'], strictAnswer: strict, tools },
    target,
  )
  return {
    oneCall,
    options: {
      prompt: readInput(body, target, call),
      ...tools,
      ...controls,
      ...format,
      ...readSampling(body, controls.reasoning !== undefined && controls.reasoning !== 'none', target),
      ...readLimit(body['max_output_tokens'], target),
    },
  }
}

function readReasoningField(reasoning: unknown): { readonly effort: unknown; readonly summary: boolean } {
  if (!isObject(reasoning)) return { effort: undefined, summary: false }
  const { effort, summary, generate_summary, ...others } = reasoning
  for (const [name, value] of Object.entries(others)) {
    if (value === null || (name === 'mode' && value === 'standard') || (name === 'context' && value === 'auto'))
      continue
    throw refuse(`reasoning.${name}`, `reasoning.${name} is not supported by this model.`)
  }
  return { effort, summary: typeof (summary ?? generate_summary) === 'string' }
}

/** Refuses obfuscation, the padding that hides token lengths. `false` is accepted, because the gateway never pads. */
export function refuseObfuscation(body: Json): void {
  const options = body['stream_options']
  if (!isObject(options) || options['include_obfuscation'] !== true) return
  throw refuse('stream_options.include_obfuscation', 'The gateway does not obfuscate translated streams.')
}
