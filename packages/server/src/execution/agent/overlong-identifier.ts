import { asObject, isOverlong } from './acp-message.ts'

type Json = Readonly<Record<string, unknown>>

/**
 * Names the first identifier of a request that is too long, or returns null. Rows keep the data for the reply until the
 * agent has it, so identifiers must fit.
 */
export function findOverlong(id: number | string, params: Json): string | null {
  const call = asObject(params['toolCall'])
  const options = Array.isArray(params['options']) ? params['options'].map(asObject) : []
  const values = Object.values(asObject(asObject(params['requestedSchema'])?.['properties']) ?? {}).flatMap(
    choiceValues,
  )
  const found = [
    ['id', [id]],
    ['toolCallId', [params['toolCallId'], call?.['toolCallId']]],
    ['optionId', options.map(option => option?.['optionId'])],
    ['const', values],
  ] as const
  return found.find(([, identifiers]) => identifiers.some(isOverlong))?.[0] ?? null
}

/** Returns the values that a form's property offers; the Interaction's row keeps them beside the shown form. */
function choiceValues(given: unknown): unknown[] {
  const property = asObject(given)
  return [property, asObject(property?.['items'])].flatMap(schema => {
    const titled = schema?.['oneOf'] ?? schema?.['anyOf']
    const bare = schema?.['enum']
    return [
      ...(Array.isArray(titled) ? titled.map(option => asObject(option)?.['const']) : []),
      ...(Array.isArray(bare) ? bare : []),
    ]
  })
}
