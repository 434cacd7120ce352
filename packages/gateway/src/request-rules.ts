import type { ResolvedModel, TranslatedWire, Wire } from '@berth/core/accounting/upstream.ts'
import type { ApiError } from '@berth/platform/kit/api-error.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'

type Body = Readonly<Record<string, unknown>>

interface Fault {
  readonly param: string
  readonly message: string
}

/**
 * Refuses fields that the gateway supports for no model, because it keeps no state.
 * @throws ApiError 400 `invalid_request`
 */
export function refuseState(wire: Wire, body: Body): void {
  if (wire === 'generate' && body['cachedContent'] !== undefined) {
    throw refused({ param: 'cachedContent', message: 'is not supported: the gateway keeps no cached content' })
  }
  if (wire !== 'responses') return
  const replay = 'is not supported: send the input and output items of earlier turns in `input` instead'
  const present = (name: string) => body[name] !== undefined && body[name] !== null
  if (present('previous_response_id')) throw refused({ param: 'previous_response_id', message: replay })
  if (present('conversation')) throw refused({ param: 'conversation', message: replay })
  if (body['background'] === true) {
    throw refused({ param: 'background', message: 'is not supported: the gateway keeps no response to ask for later' })
  }
}

/** Returns whether the gateway can translate a format if the provider does not speak it. */
export const isTranslated = (wire: Wire): wire is TranslatedWire => wire === 'chat' || wire === 'responses'

/** Returns whether a model is served in a format. */
export const serves = (model: ResolvedModel, wire: Wire): boolean => isTranslated(wire) || model.wire.includes(wire)

const formatNames: Readonly<Record<Wire, string>> = {
  chat: 'Chat Completions',
  responses: 'Responses',
  messages: "Anthropic's Messages",
  generate: "Google's generateContent",
}
const maxNamed = 10

/** Returns a 400 that names the open models served in the format. */
export function refuseFormat(id: string, wire: Wire, open: readonly ResolvedModel[]): ApiError {
  const format = formatNames[wire]
  const served = open.filter(model => serves(model, wire)).map(model => `'${model.id}'`)
  const rest = served.length > maxNamed ? `, and ${served.length - maxNamed} more` : ''
  const which = served.length === 0 ? 'no model here' : `${served.slice(0, maxNamed).join(', ')}${rest}`
  return refusal('invalid_request', {
    message: `'${id}' is not served over ${format}, which its provider does not speak and the gateway does not translate. Served in this format: ${which}.`,
    param: 'model',
  })
}

/**
 * Refuses fields that the model does not support as configured.
 * @throws ApiError 400 `invalid_request`
 */
export function refuseMeaningless(body: Body, model: ResolvedModel): void {
  // Reading a member of a large body may parse all of it.
  const tools = model.tools ? null : body['tools']
  if (Array.isArray(tools) && tools.length > 0) {
    throw refused({ param: 'tools', message: `is not supported by '${model.id}', which calls no tools` })
  }
  if (model.reasoning) return
  const param = hasEffort(body['reasoning_effort'])
    ? 'reasoning_effort'
    : hasEffort(effortOf(body['reasoning']))
      ? 'reasoning.effort'
      : null
  if (param !== null) throw refused({ param, message: `is not supported by '${model.id}', which does not reason` })
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
