import { interactionLimits as bounds, type Question } from '@berth/contract'
import { isMatchable } from '@berth/core/sessions/interactions/text-rules.ts'
import type { Json } from '@berth/platform/kit/json.ts'
import { asObject, asText, berthMeta } from './acp-message.ts'
import { clip } from './clip.ts'

/** Bytes of all values of a form's options together. A value is sent back whole, so an option beyond is left out. */
const MAX_VALUES_BYTES = 1024 * 1024

/**
 * Returns the questions of an ACP elicitation form, as people see them. Any input becomes a form that can be shown.
 * Excess is cut or left out, and so are properties of unknown types. A form without properties is one question that
 * takes any text.
 *
 * Agents put facts that the schema cannot express into a property's `_meta.berth`: `header`, `recommendedIndex`,
 * `allowCustom`, `customFieldId`.
 */
export function readForm(message: string, schema: Json): Question[] {
  const required = new Set(Array.isArray(schema['required']) ? schema['required'] : [])
  const properties = Object.entries(asObject(schema['properties']) ?? {})
  const questions: Question[] = []
  const room = { bytes: MAX_VALUES_BYTES }
  for (const [name, given] of properties) {
    if (questions.length === bounds.questions) break
    const property = asObject(given)
    // A truncated name would identify another field, or none.
    if (property === null || [...name].length > bounds.fieldCharacters) continue
    const field = readField(property, room)
    if (field === null) continue
    const title = asText(property['title'])
    const text = asText(property['description']) ?? title ?? name
    const first = questions.length === 0
    const question = first && properties.length === 1 ? message || text : first ? joined(message, text) : text
    const header = asText(berthMeta(property)['header']) ?? title
    questions.push({
      question: clip(question, bounds.questionCharacters),
      ...(header !== undefined && { header: clip(header, bounds.headerCharacters) }),
      ...field,
      fieldId: name,
      ...(required.has(name) && { required: true }),
    })
  }
  if (questions.length > 0) return questions
  return [{ question: clip(message, bounds.questionCharacters), options: [], allowCustom: true }]
}

const joined = (message: string, text: string) => (message === '' ? text : `${message}\n\n${text}`)

type Field = Omit<Question, 'question' | 'fieldId' | 'header' | 'required'>

function readField(property: Json, room: Room): Field | null {
  switch (property['type']) {
    case 'string': {
      const choices = readChoices(property, room)
      if (choices !== null) return choiceField(property, choices, 'string')
      return {
        options: [],
        valueType: 'string',
        ...formatOf(property),
        ...counts(property, ['minLength', 'maxLength'], bounds.answerCharacters),
        ...patternOf(property),
        ...textDefault(property['default']),
      }
    }
    case 'number':
    case 'integer':
      return {
        options: [],
        valueType: property['type'],
        ...numbers(property, ['minimum', 'maximum']),
        ...(typeof property['default'] === 'number' && { defaultValue: property['default'] }),
      }
    case 'boolean':
      return choiceField(
        property,
        [true, false].map(value => ({ value, label: value ? 'Yes' : 'No' })),
        'boolean',
      )
    case 'array': {
      const choices = readChoices(asObject(property['items']) ?? {}, room)
      if (choices === null) return null
      const field = choiceField(property, choices, 'string[]')
      return { ...field, multiSelect: true, ...counts(property, ['minItems', 'maxItems'], bounds.options) }
    }
    default:
      return null
  }
}

interface Choice {
  readonly value: string | boolean
  readonly label: string
}

/** The bytes of values that a form may still take. */
interface Room {
  bytes: number
}

/** Reads titled (`oneOf`, `anyOf`) or bare (`enum`) choices; null if any text is allowed. */
function readChoices(schema: Json, room: Room): Choice[] | null {
  const titled = schema['oneOf'] ?? schema['anyOf']
  if (Array.isArray(titled)) {
    return titled.slice(0, bounds.options).flatMap(option => {
      const value = asText(asObject(option)?.['const'])
      return takes(room, value) ? [{ value, label: asText(asObject(option)?.['title']) ?? value }] : []
    })
  }
  if (!Array.isArray(schema['enum'])) return null
  return schema['enum'].slice(0, bounds.options).flatMap(option => {
    const value = asText(option)
    return takes(room, value) ? [{ value, label: value }] : []
  })
}

function takes(room: Room, value: string | undefined): value is string {
  if (value === undefined || Buffer.byteLength(value) > room.bytes) return false
  room.bytes -= Buffer.byteLength(value)
  return true
}

/** Returns the labels as people see them. Labels that are the same once they are cut are told apart by a number. */
function labelsOf(choices: readonly Choice[]): string[] {
  const shown = new Set<string>()
  return choices.map(({ label }) => {
    let text = clip(label, bounds.optionCharacters)
    const isCut = text !== label
    for (let number = 2; isCut && shown.has(text); number++) {
      const mark = `… (${number})`
      text = clip(label, bounds.optionCharacters - mark.length) + mark
    }
    shown.add(text)
    return text
  })
}

function choiceField(property: Json, choices: readonly Choice[], valueType: 'string' | 'boolean' | 'string[]'): Field {
  const meta = berthMeta(property)
  const given = property['default']
  const preset = choices.findIndex(({ value }) => value === given)
  const recommended = meta['recommendedIndex'] ?? (preset === -1 ? undefined : preset)
  const customField = asText(meta['customFieldId'])
  const custom = meta['allowCustom'] === true || customField !== undefined
  // A truncated name would identify another field.
  const customFieldId =
    customField !== undefined && [...customField].length > bounds.fieldCharacters ? undefined : customField
  return {
    options: labelsOf(choices),
    optionValues: choices.map(({ value }) => value),
    valueType,
    ...(Number.isInteger(recommended) &&
      isWithin(recommended as number, choices) && { recommendedIndex: recommended as number }),
    ...(custom && { allowCustom: true }),
    ...(customFieldId !== undefined && { customFieldId }),
    ...(preset !== -1 && { defaultValue: given }),
    ...(Array.isArray(given) && {
      defaultValue: choices.map(({ value }) => value).filter(value => given.includes(value)),
    }),
  }
}

const isWithin = (index: number, choices: readonly unknown[]) => index >= 0 && index < choices.length

const formats = ['email', 'uri', 'date', 'date-time'] as const

function formatOf(property: Json): Pick<Question, 'format'> {
  const format = formats.find(known => known === property['format'])
  return format === undefined ? {} : { format }
}

/** Drops a pattern that no text could be held against here; the agent has it still, and judges the answer itself. */
function patternOf(property: Json): Pick<Question, 'pattern'> {
  const pattern = asText(property['pattern'])
  if (pattern === undefined || [...pattern].length > bounds.patternCharacters) return {}
  return isMatchable(pattern) ? { pattern } : {}
}

/** Drops a bound beyond Berth's own: no answer here could meet or miss it. */
function counts<Name extends string>(
  property: Json,
  names: readonly Name[],
  most: number,
): Partial<Record<Name, number>> {
  return numbersWhere(property, names, value => Number.isInteger(value) && value >= 0 && value <= most)
}

function numbers<Name extends string>(property: Json, names: readonly Name[]): Partial<Record<Name, number>> {
  return numbersWhere(property, names, Number.isFinite)
}

function numbersWhere<Name extends string>(
  property: Json,
  names: readonly Name[],
  holds: (value: number) => boolean,
): Partial<Record<Name, number>> {
  const found: Partial<Record<Name, number>> = {}
  for (const name of names) {
    const value = property[name]
    if (typeof value === 'number' && holds(value)) found[name] = value
  }
  return found
}

function textDefault(given: unknown): Pick<Question, 'defaultValue'> {
  const text = asText(given)
  return text === undefined ? {} : { defaultValue: clip(text, bounds.answerCharacters) }
}
