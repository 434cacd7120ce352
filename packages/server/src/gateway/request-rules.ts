import type { ApiError } from '../kit/api-error.ts'
import { refusal } from '../kit/refusal.ts'
import type { ResolvedModel, TranslatedWire, Wire } from './providers/upstream.ts'

type Body = Readonly<Record<string, unknown>>

interface Fault {
  readonly param: string
  readonly message: string
}

/**
 * What the contract refuses by name, whatever the model (interface 4.12).
 * @throws ApiError 400 `invalid_request`
 */
export function refuseState(wire: Wire, body: Body): void {
  if (wire === 'generate' && body['cachedContent'] !== undefined) {
    throw refused({ param: 'cachedContent', message: 'is not supported: it is nothing that the gateway has made' })
  }
  if (wire !== 'responses') return
  const replay = 'is not supported: send the input and output items of earlier turns in `input` instead'
  const present = (name: string) => body[name] !== undefined && body[name] !== null
  if (present('previous_response_id')) throw refused({ param: 'previous_response_id', message: replay })
  if (present('conversation')) throw refused({ param: 'conversation', message: replay })
  if (body['background'] === true) {
    throw refused({ param: 'background', message: 'is not supported: nothing is kept that could be asked for later' })
  }
}

/** Whether a model is served in a format by translation, where its provider does not speak it. */
export const isTranslated = (wire: Wire): wire is TranslatedWire => wire === 'chat' || wire === 'responses'

/** Whether a model is served in a format. */
export const serves = (model: ResolvedModel, wire: Wire): boolean => isTranslated(wire) || model.wire.includes(wire)

const formatNames: Readonly<Record<Wire, string>> = {
  chat: 'Chat Completions',
  responses: 'Responses',
  messages: "Anthropic's Messages",
  generate: "Google's generateContent",
}
const maxNamed = 10

/** Says which of the models that are open to the caller are served in the format. */
export function refuseFormat(id: string, wire: Wire, open: readonly ResolvedModel[]): ApiError {
  const format = formatNames[wire]
  const served = open.filter(model => serves(model, wire)).map(model => `'${model.id}'`)
  const rest = served.length > maxNamed ? `, and ${served.length - maxNamed} more` : ''
  const which = served.length === 0 ? 'no model here' : `${served.slice(0, maxNamed).join(', ')}${rest}`
  return refusal('invalid_request', {
    message: `'${id}' is not served over ${format}, which its provider does not speak and the gateway does not translate; those that are: ${which}.`,
    param: 'model',
  })
}

/**
 * Fields that mean nothing to the model as it is configured.
 * @throws ApiError 400 `invalid_request`
 */
export function refuseMeaningless(body: Body, model: ResolvedModel): void {
  // To read a member of a large body may parse all of it.
  const tools = model.tools ? null : body['tools']
  if (Array.isArray(tools) && tools.length > 0) {
    throw refused({ param: 'tools', message: `means nothing to '${model.id}', which calls no tools` })
  }
  if (model.reasoning) return
  const param = hasEffort(body['reasoning_effort'])
    ? 'reasoning_effort'
    : hasEffort(effortOf(body['reasoning']))
      ? 'reasoning.effort'
      : null
  if (param !== null) throw refused({ param, message: `means nothing to '${model.id}', which does not reason` })
}

const effortOf = (reasoning: unknown): unknown =>
  typeof reasoning === 'object' && reasoning !== null && 'effort' in reasoning ? reasoning.effort : null

const hasEffort = (effort: unknown): boolean => typeof effort === 'string' && effort !== 'none'

function refused({ param, message }: Fault) {
  return refusal('invalid_request', {
    message: `'${param}' ${message}.`,
    param,
    issues: [{ path: param.split('.'), message }],
  })
}
