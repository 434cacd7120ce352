import type { ModelRequest } from '@berth/core/accounting/model-request.ts'
import type { CountedWire, ResolvedModel, Wire } from '@berth/core/accounting/upstream.ts'
import type { GatewayHandlers, GatewayReply, GatewayRequest } from '@berth/core/http/routing/handler.ts'
import { countTokens } from './count-tokens.ts'
import { modelListView, modelView, sharedWires, wireOf } from './model-lists.ts'
import { serves } from './request-rules.ts'
import { candidatesOf, type Gateway, isOpen, serveRequest } from './serve-request.ts'

const json = 'application/json; charset=utf-8'

/** The part of a request that the handler of an operation extracts. */
type ModelChoice = Pick<ModelRequest, 'modelId' | 'streams'>

const inBody = ({ body }: GatewayRequest): ModelChoice => ({
  modelId: String(body['model']),
  streams: body['stream'] === true,
})

const inPath =
  (streams: boolean) =>
  ({ params }: GatewayRequest): ModelChoice => ({ modelId: String(params['model']), streams })

/** The handlers of the gateway's operations; see docs/gateway.md and docs/decisions/0008-formats-of-providers.md. */
export function gatewayHandlers(gateway: Gateway): GatewayHandlers {
  const handle =
    (wire: Wire, model = inBody) =>
    async (request: GatewayRequest): Promise<GatewayReply> => {
      const body = await serveRequest(gateway, { ...request, ...model(request), wire, headers: texts(request.headers) })
      const whole = typeof body === 'string' || Buffer.isBuffer(body)
      return { contentType: whole ? json : 'text/event-stream; charset=utf-8', body }
    }
  const count =
    (wire: CountedWire, model = inBody) =>
    async (request: GatewayRequest): Promise<GatewayReply> => {
      const headers = texts(request.headers)
      const body = await countTokens(gateway, { ...request, ...model(request), wire, headers, streams: false })
      return { contentType: json, body }
    }
  const shared = async (model: ResolvedModel) => ({
    ...model,
    wire: sharedWires(await gateway.catalog.candidates(model.id)),
  })
  const list = async ({ caller, dialect, query }: GatewayRequest): Promise<GatewayReply> => {
    const wire = wireOf[dialect]
    const models = (await gateway.catalog.list()).filter(model => isOpen(model, caller) && serves(model, wire))
    const silent = gateway.catalog.silent.filter(id => mayUse(caller, id))
    return {
      contentType: json,
      ...(silent.length > 0 && { headers: { [silentProviders]: silent.join(', ') } }),
      body: JSON.stringify(modelListView(await Promise.all(models.map(shared)), dialect, query)),
    }
  }
  const get = async ({ caller, dialect, params }: GatewayRequest): Promise<GatewayReply> => {
    const [model] = await candidatesOf(gateway, { modelId: String(params['model']), wire: wireOf[dialect], caller })
    return { contentType: json, body: JSON.stringify(modelView(await shared(model), dialect)) }
  }
  return {
    listModels: list,
    listContentModels: list,
    getModel: get,
    getContentModel: get,
    createResponse: handle('responses'),
    createChatCompletion: handle('chat'),
    createMessage: handle('messages'),
    countMessageTokens: count('messages'),
    generateContent: handle('generate', inPath(false)),
    streamGenerateContent: handle('generate', inPath(true)),
    countContentTokens: count('generate', inPath(false)),
  }
}

/** Names the providers that did not answer with their lists, so that a short list is not taken for a whole one. */
const silentProviders = 'x-svc-silent-providers'

const mayUse = ({ allowedModels }: GatewayRequest['caller'], provider: string): boolean =>
  allowedModels === null || [...allowedModels].some(id => id.startsWith(`${provider}/`))

const texts = (headers: GatewayRequest['headers']): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
