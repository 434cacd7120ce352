import type { Model } from '@berth/contract'
import type { GatewayHandlers, GatewayReply, GatewayRequest } from '../http/handler.ts'
import { type Gateway, serveRequest } from './serve-request.ts'
import type { ResolvedModel, Wire } from './upstream.ts'

const json = 'application/json; charset=utf-8'

/** The gateway's three operations (interface 4.12). */
export function gatewayHandlers(gateway: Gateway): GatewayHandlers {
  const handle =
    (wire: Wire) =>
    async (request: GatewayRequest): Promise<GatewayReply> => {
      const body = await serveRequest(gateway, { ...request, wire })
      const whole = typeof body === 'string' || Buffer.isBuffer(body)
      return { contentType: whole ? json : 'text/event-stream; charset=utf-8', body }
    }
  return {
    async listModels({ caller }) {
      const { allowedModels } = caller
      const models = await gateway.catalog.list()
      const open = allowedModels === null ? models : models.filter(({ catalogId }) => allowedModels.has(catalogId))
      return { contentType: json, body: JSON.stringify({ object: 'list', data: open.map(toModel) }) }
    },
    createResponse: handle('responses'),
    createChatCompletion: handle('chat'),
  }
}

function toModel(model: ResolvedModel): Model {
  const { price } = model
  return {
    id: model.id,
    object: 'model',
    created: 0,
    owned_by: model.provider,
    context_length: model.contextTokens ?? null,
    max_output_tokens: model.outputTokens ?? null,
    supports_tools: model.tools,
    supports_reasoning: model.reasoning,
    native_wires: model.kind === 'openai' ? ['chat', 'responses'] : [...model.wire],
    input_modalities: [...model.modalities],
    pricing: price === undefined ? null : { input: price.input, cached_input: price.cachedInput, output: price.output },
  }
}
