import { asObject, isObject } from '@berth/platform/kit/json.ts'
import { ChatRelay } from './chat-relay.ts'
import { outputText, ResponsesRelay } from './responses-relay.ts'
import { withoutSealed, withoutSealedSignatures } from './sealed-reasoning.ts'
import { readUsage } from './stream-relay.ts'
import type { WireFormat } from './wire-format.ts'

const withUsage = (options: unknown) => ({ ...asObject(options), include_usage: true })

const keepsUsage = (options: unknown) => isObject(options) && options['include_usage'] === true

/** Chat Completions. The gateway asks for usage in every stream, because accounting needs it. */
export const chatFormat: WireFormat = {
  call: ({ body, streams, model }) => ({
    path: '/chat/completions',
    members: {
      model: model.model,
      messages: withoutSealedSignatures(body['messages']),
      ...(streams && { stream_options: withUsage(body['stream_options']) }),
    },
  }),
  whole(answer, { model }) {
    if (!Array.isArray(answer['choices'])) return null
    return { body: { ...answer, model: model.id }, usage: readUsage(answer['usage']) }
  },
  relay: ({ body }) => new ChatRelay(keepsUsage(body['stream_options'])),
}

/** Responses. The gateway removes reasoning that it sealed for a translated model. */
export const responsesFormat: WireFormat = {
  call: ({ body, model }) => ({
    path: '/responses',
    members: { model: model.model, input: withoutSealed(body['input']) },
  }),
  whole(answer, { model }) {
    const { output } = answer
    if (!Array.isArray(output)) return null
    const body = { ...answer, model: model.id, output_text: outputText(output) }
    return { body, usage: readUsage(answer['usage']) }
  },
  relay: ({ body, model }) => new ResponsesRelay(model.id, body),
}
