import type { Model } from '@berth/contract'
import type { GatewayHandlers, GatewayReply, GatewayRequest } from '../http/routing/handler.ts'
import { countTokens } from './count-tokens.ts'
import type { ModelRequest } from './providers/model-request.ts'
import type { CountedWire, ResolvedModel, Wire } from './providers/upstream.ts'
import { type Gateway, serveRequest } from './serve-request.ts'

const json = 'application/json; charset=utf-8'

/** The part of a request that the handler of an operation extracts. */
type Asked = Pick<ModelRequest, 'modelId' | 'streams'>

const inBody = ({ body }: GatewayRequest): Asked => ({
  modelId: String(body['model']),
  streams: body['stream'] === true,
})

const inPath =
  (streams: boolean) =>
  ({ params }: GatewayRequest): Asked => ({ modelId: String(params['model']), streams })

/** The handlers of the gateway's operations; see docs/gateway.md and docs/decisions/0008-formats-of-providers.md. */
export function gatewayHandlers(gateway: Gateway): GatewayHandlers {
  const handle =
    (wire: Wire, asked = inBody) =>
    async (request: GatewayRequest): Promise<GatewayReply> => {
      const body = await serveRequest(gateway, { ...request, ...asked(request), wire, headers: texts(request.headers) })
      const whole = typeof body === 'string' || Buffer.isBuffer(body)
      return { contentType: whole ? json : 'text/event-stream; charset=utf-8', body }
    }
  const count =
    (wire: CountedWire, asked = inBody) =>
    async (request: GatewayRequest): Promise<GatewayReply> => {
      const headers = texts(request.headers)
      const body = await countTokens(gateway, { ...request, ...asked(request), wire, headers, streams: false })
      return { contentType: json, body }
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
    createMessage: handle('messages'),
    countMessageTokens: count('messages'),
    generateContent: handle('generate', inPath(false)),
    streamGenerateContent: handle('generate', inPath(true)),
    countContentTokens: count('generate', inPath(false)),
  }
}

const texts = (headers: GatewayRequest['headers']): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

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
