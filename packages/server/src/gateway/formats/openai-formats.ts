import { isObject } from '../../kit/json.ts'
import { spliceMembers } from '../../kit/json-splice.ts'
import { ChatTap } from './chat-tap.ts'
import { outputText, ResponsesTap } from './responses-tap.ts'
import { sealedMark, withoutSealed, withoutSealedSignatures } from './sealed-reasoning.ts'
import { readUsage } from './stream-tap.ts'
import type { WireFormat } from './wire-format.ts'

const withUsage = (options: unknown) => ({ ...(isObject(options) ? options : {}), include_usage: true })

const keepsUsage = (options: unknown) => isObject(options) && options['include_usage'] === true

/** Chat Completions. In a stream the usage is asked for, without which nothing could be accounted. */
export const chatFormat: WireFormat = {
  call: ({ body, bytes, streams, model }) => ({
    path: '/chat/completions',
    members: {
      model: JSON.stringify(model.model),
      ...(bytes.includes(sealedMark) && { messages: JSON.stringify(withoutSealedSignatures(body['messages'])) }),
      ...(streams && { stream_options: JSON.stringify(withUsage(body['stream_options'])) }),
    },
  }),
  whole(answer, bytes, { model }) {
    if (!Array.isArray(answer['choices'])) return null
    return { body: spliceMembers(bytes, { model: JSON.stringify(model.id) }), usage: readUsage(answer['usage']) }
  },
  tap: ({ body }) => new ChatTap(keepsUsage(body['stream_options'])),
}

/** Responses. Reasoning that a translated model said is left out. */
export const responsesFormat: WireFormat = {
  call: ({ body, bytes, model }) => ({
    path: '/responses',
    members: {
      model: JSON.stringify(model.model),
      ...(bytes.includes(sealedMark) && { input: JSON.stringify(withoutSealed(body['input'])) }),
    },
  }),
  whole(answer, bytes, { model }) {
    const { output } = answer
    if (!Array.isArray(output)) return null
    const members = { model: JSON.stringify(model.id), output_text: JSON.stringify(outputText(output)) }
    return { body: spliceMembers(bytes, members), usage: readUsage(answer['usage']) }
  },
  tap: ({ body, model }) => new ResponsesTap(model.id, body),
}
