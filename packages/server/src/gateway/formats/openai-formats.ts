import { asObject, isObject } from '../../kit/json.ts'
import { spliceMembers } from '../../kit/json-splice.ts'
import { ChatRelay } from './chat-relay.ts'
import { outputText, ResponsesRelay } from './responses-relay.ts'
import { sealedMark, withoutSealed, withoutSealedSignatures } from './sealed-reasoning.ts'
import { readUsage } from './stream-relay.ts'
import type { WireFormat } from './wire-format.ts'

const withUsage = (options: unknown) => ({ ...asObject(options), include_usage: true })

const keepsUsage = (options: unknown) => isObject(options) && options['include_usage'] === true

/** Chat Completions. The gateway asks for usage in every stream, because accounting needs it. */
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
  relay: ({ body }) => new ChatRelay(keepsUsage(body['stream_options'])),
}

/** Responses. The gateway removes reasoning that it sealed for a translated model. */
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
  relay: ({ body, model }) => new ResponsesRelay(model.id, body),
}
