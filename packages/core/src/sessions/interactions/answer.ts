import { interactionLimits as bounds, type Question } from '@berth/contract'
import { invalidField } from '@berth/platform/kit/refusal.ts'
import { hasFormat, matches } from './text-rules.ts'

/** The answer for the agent: values by field, and the words themselves if they name no value. */
export interface FormAnswer {
  readonly content: Readonly<Record<string, unknown>>
  readonly text?: string
}

/**
 * Reads a message as the answer to a form. A JSON object is read by field or by the question's index and must obey the
 * form. Any other text answers the one question that it can mean: an option's label chooses the option, else the agent
 * gets the text unchanged. Text is never refused if the form has a single question.
 * @throws ApiError 400 `invalid_request`: path `message, <field>` if a field breaks the form, path `message` if text
 *   may mean several questions or leaves a required one open
 */
export function readFormAnswer(questions: readonly Question[], message: string): FormAnswer {
  const given = parseObject(message)
  return given === null ? readProse(questions, message) : { content: readFields(questions, given) }
}

/** Reads a message as the answer to a plan: `approve` leaves plan mode; any other text is feedback. */
export function readPlanAnswer(message: string): { readonly approved: boolean; readonly text?: string } {
  return message.trim().toLowerCase() === 'approve' ? { approved: true } : { approved: false, text: message }
}

const keyOf = (question: Question, index: number): string => question.fieldId ?? String(index)

function readFields(questions: readonly Question[], given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  // An agent chooses the names; on a plain object, `__proto__` would be lost.
  const content: Record<string, unknown> = Object.create(null)
  const left = new Map(Object.entries(given))
  const take = (name: string | undefined): unknown => {
    if (name === undefined) return undefined
    const value = left.get(name)
    left.delete(name)
    return value === null ? undefined : value
  }
  for (const [index, question] of questions.entries()) {
    const key = keyOf(question, index)
    const [byField, byIndex, custom] = [take(key), take(String(index)), take(question.customFieldId)]
    const value = byField ?? byIndex
    if (value !== undefined) Object.assign(content, readValue(question, key, value))
    if (custom !== undefined) content[question.customFieldId ?? key] = readText(question.customFieldId ?? key, custom)
    if (value !== undefined || custom !== undefined) continue
    if (question.defaultValue !== undefined) content[key] = question.defaultValue
    else if (question.required === true) throw refuse(key, 'is required')
  }
  for (const name of left.keys()) throw refuse(name, 'is not a field of the question')
  return content
}

function readValue(question: Question, key: string, value: unknown): Record<string, unknown> {
  if (question.multiSelect === true || question.valueType === 'string[]')
    return { [key]: readList(question, key, value) }
  if (question.options.length > 0) {
    const option = optionOf(question, value)
    if (option !== undefined) return { [key]: option }
    if (question.allowCustom !== true) throw refuse(key, 'is not one of the options')
    return { [question.customFieldId ?? key]: readText(key, value) }
  }
  switch (question.valueType) {
    case 'number':
    case 'integer':
      return { [key]: readNumber(question, key, value) }
    case 'boolean':
      if (typeof value !== 'boolean') throw refuse(key, 'is not true or false')
      return { [key]: value }
    default:
      return { [key]: readRuledText(question, key, value) }
  }
}

/** Returns an option by its value or its label. */
function optionOf({ options, optionValues = options }: Question, value: unknown): unknown {
  const byValue = (optionValues as readonly unknown[]).indexOf(value)
  const index = byValue === -1 && typeof value === 'string' ? options.indexOf(value) : byValue
  return index === -1 ? undefined : optionValues[index]
}

function readList(question: Question, key: string, value: unknown): unknown[] {
  if (!Array.isArray(value)) throw refuse(key, 'is not a list')
  const items = value.map(item => {
    const option = optionOf(question, item)
    if (option !== undefined) return option
    if (question.options.length > 0 && question.allowCustom !== true)
      throw refuse(key, 'holds a value that is not one of the options')
    return readText(key, item)
  })
  if (new Set(items).size < items.length) throw refuse(key, 'holds an option twice')
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = question
  if (items.length < minItems) throw refuse(key, `holds fewer than ${minItems}`)
  if (items.length > maxItems) throw refuse(key, `holds more than ${maxItems}`)
  return items
}

function readNumber({ valueType, minimum, maximum }: Question, key: string, value: unknown): number {
  if (typeof value !== 'number') throw refuse(key, 'is not a number')
  if (valueType === 'integer' && !Number.isInteger(value)) throw refuse(key, 'is not a whole number')
  if (minimum !== undefined && value < minimum) throw refuse(key, `is less than ${minimum}`)
  if (maximum !== undefined && value > maximum) throw refuse(key, `is more than ${maximum}`)
  return value
}

function readText(key: string, value: unknown): string {
  if (typeof value !== 'string') throw refuse(key, 'is not text')
  if ([...value].length > bounds.answerCharacters)
    throw refuse(key, `is longer than ${bounds.answerCharacters} characters`)
  return value
}

function readRuledText({ minLength = 0, maxLength, pattern, format }: Question, key: string, value: unknown): string {
  const text = readText(key, value)
  const { length } = [...text]
  if (length < minLength) throw refuse(key, `is shorter than ${minLength} characters`)
  if (maxLength !== undefined && length > maxLength) throw refuse(key, `is longer than ${maxLength} characters`)
  if (format !== undefined && !hasFormat(text, format)) throw refuse(key, `is not a valid ${format}`)
  if (pattern === undefined) return text
  const matched = matches(text, pattern)
  if (matched === undefined) throw refuse(key, `cannot be checked against ${pattern}; give a shorter text`)
  if (!matched) throw refuse(key, `does not match ${pattern}`)
  return text
}

/** Reads words as an answer, and keeps the words for an agent that would rather read them. */
function readProse(questions: readonly Question[], message: string): FormAnswer {
  const meant = questions.length > 1 ? indexMeant(questions, message) : 0
  const content: Record<string, unknown> = Object.create(null)
  for (const [index, question] of questions.entries()) {
    if (index === meant) Object.assign(content, parseText(question, index, message))
    else if (question.defaultValue !== undefined) content[keyOf(question, index)] = question.defaultValue
  }
  return { content, text: message }
}

/**
 * Returns the index of the one question that the words can mean.
 * @throws ApiError 400 if the words may mean several questions, or leave a required one open
 */
function indexMeant(questions: readonly Question[], message: string): number {
  const where = (holds: (question: Question) => boolean) =>
    questions.flatMap((question, index) => (holds(question) ? [index] : []))
  const named = where(question => optionNamed(question, message) !== -1)
  const [only, ...others] = named.length > 0 ? named : where(question => takesText(question, message))
  const isLeftOpen = ({ required, defaultValue }: Question, index: number) =>
    index !== only && required === true && defaultValue === undefined
  if (only !== undefined && others.length === 0 && !questions.some(isLeftOpen)) return only
  const fields = questions.map((question, index) => {
    const name = JSON.stringify(keyOf(question, index))
    return question.required === true ? `${name} (required)` : name
  })
  throw invalidField(['message'], `does not say which question it answers; send a JSON object of ${fields.join(', ')}`)
}

const optionNamed = ({ options }: Question, message: string): number =>
  options.findIndex(option => option.trim().toLowerCase() === message.trim().toLowerCase())

const isNumeric = ({ valueType }: Question) => valueType === 'number' || valueType === 'integer'

function takesText(question: Question, message: string): boolean {
  if (question.options.length > 0) return question.allowCustom === true
  return !isNumeric(question) || Number.isFinite(numberIn(message))
}

const numberIn = (message: string) => (message.trim() === '' ? Number.NaN : Number(message))

function parseText(question: Question, index: number, message: string): Record<string, unknown> {
  const at = optionNamed(question, message)
  const isList = question.multiSelect === true
  if (at !== -1) {
    const value = question.optionValues?.[at] ?? question.options[at]
    return { [keyOf(question, index)]: isList ? [value] : value }
  }
  if (question.fieldId === undefined) return {}
  const number = isNumeric(question) ? numberIn(message) : Number.NaN
  const value = Number.isFinite(number) ? number : isList ? [message] : message
  return { [question.customFieldId ?? question.fieldId]: value }
}

function parseObject(message: string): Record<string, unknown> | null {
  if (!message.trimStart().startsWith('{')) return null
  try {
    const value: unknown = JSON.parse(message)
    return value !== null && typeof value === 'object' && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}

const refuse = (field: string, message: string) => invalidField(['message', field], message)
