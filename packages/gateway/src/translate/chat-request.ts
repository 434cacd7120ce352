import type { TranslatedCall } from '@berth/core/accounting/upstream.ts'
import { isObject } from '@berth/platform/kit/json.ts'
import { refuse } from '../formats/refuse.ts'
import { readFormat } from './answer-format.ts'
import type { Call } from './call.ts'
import { readMessages } from './chat-messages.ts'
import { readControls } from './controls.ts'
import { refuseObfuscation } from './responses-request.ts'
import { readLimit, readSampling } from './sampling.ts'
import type { Target } from './target.ts'
import { readTools } from './tools.ts'

/** Fields that only OpenAI's own service supports, each with a test for values that request nothing. */
const needless: Readonly<Record<string, (value: unknown) => boolean>> = {
  audio: () => false,
  function_call: () => false,
  functions: value => Array.isArray(value) && value.length === 0,
  logit_bias: value => isObject(value) && Object.keys(value).length === 0,
  logprobs: value => value === false,
  modalities: value => Array.isArray(value) && value.every(modality => modality === 'text'),
  moderation: () => false,
  n: value => value === 1,
  prediction: () => false,
  store: value => value === false,
  top_logprobs: value => value === 0,
  web_search_options: () => false,
}

/**
 * Reads a Chat Completions request.
 * @throws UpstreamError 400 that names an unsupported field
 */
export function readChatRequest(call: TranslatedCall, target: Target): Call {
  const { body } = call
  for (const [field, harmless] of Object.entries(needless)) {
    const value = body[field]
    if (value === undefined || value === null || harmless(value)) continue
    throw refuse(field, `${field} is not supported by ${target.model.id}.`)
  }
  refuseObfuscation(body)
  const tools = readTools(body, 'chat')
  const { strict, ...format } = readFormat(body['response_format'], 'chat', target)
  const { oneCall, ...controls } = readControls(
    body,
    { wire: 'chat', effort: body['reasoning_effort'], verbosity: body['verbosity'], strictAnswer: strict, tools },
    target,
  )
  const stop = body['stop']
  const limit = body['max_completion_tokens'] ?? body['max_tokens']
  return {
    oneCall,
    options: {
      prompt: readMessages(body, target, call),
      ...tools,
      ...controls,
      ...format,
      ...readSampling(body, controls.reasoning !== undefined && controls.reasoning !== 'none', target),
      ...readLimit(limit, target),
      ...(typeof stop === 'string' && { stopSequences: [stop] }),
      ...(Array.isArray(stop) && stop.length > 0 && { stopSequences: stop as string[] }),
    },
  }
}
