import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { TranslatedWire } from '@berth/core/accounting/upstream.ts'
import { isObject } from '@berth/platform/kit/json.ts'
import { refuse } from '../formats/refuse.ts'
import { objectAt, optionalString } from './field-readers.ts'
import type { Target } from './target.ts'

/** The field of each format that asks for a structured answer. */
export const formatField: Readonly<Record<TranslatedWire, string>> = {
  chat: 'response_format',
  responses: 'text.format',
}

type Format = Pick<LanguageModelV4CallOptions, 'responseFormat'> & { readonly strict?: boolean }

/**
 * Reads the field of a structured answer. It refuses a format that the provider does not have: output that only
 * resembles it is worse than none. Chat Completions nests a schema's fields under `json_schema`.
 */
export function readFormat(given: unknown, wire: TranslatedWire, { model }: Target): Format {
  const field = formatField[wire]
  if (!isObject(given) || given['type'] === 'text') return {}
  if (given['type'] === 'json_object') {
    if (model.kind !== 'anthropic') return { responseFormat: { type: 'json' } }
    throw refuse(field, `${model.id} returns JSON only by a schema: use json_schema.`)
  }
  if (given['type'] !== 'json_schema') {
    throw refuse(`${field}.type`, `${field} ${JSON.stringify(given['type'])} is not known.`)
  }
  const param = wire === 'chat' ? `${field}.json_schema` : field
  const requested = wire === 'chat' ? objectAt(given['json_schema'], param) : given
  const name = optionalString(requested['name'], `${param}.name`)
  const description = optionalString(requested['description'], `${param}.description`)
  const strict = requested['strict']
  return {
    responseFormat: {
      type: 'json',
      schema: objectAt(requested['schema'] ?? {}, `${param}.schema`),
      ...(name !== undefined && { name }),
      ...(description !== undefined && { description }),
    },
    ...(typeof strict === 'boolean' && { strict }),
  }
}
