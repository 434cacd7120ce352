import type { Interaction } from './generated/types.ts'

export type Question = NonNullable<Interaction['request']['questions']>[number]

/** A person's input for one question: chosen options by index, and free text. */
export interface Answer {
  readonly chosen: readonly number[]
  readonly freeText: string
}

/** Returns the initial state of the form: defaults, else nothing. */
export function initialAnswer(question: Question): Answer {
  const { defaultValue, options } = question
  if (defaultValue === undefined || defaultValue === null) return { chosen: [], freeText: '' }
  const wanted = Array.isArray(defaultValue) ? defaultValue : [defaultValue]
  const chosen = wanted.flatMap(value => {
    const at = options.findIndex((option, index) => option === value || question.optionValues?.[index] === value)
    return at === -1 ? [] : [at]
  })
  if (chosen.length > 0 || options.length > 0) return { chosen, freeText: '' }
  return { chosen: [], freeText: String(defaultValue) }
}

/** Returns why a question's answer cannot be sent; undefined if it can. The service checks again. */
export function faultOf(question: Question, { chosen, freeText }: Answer): string | undefined {
  const text = freeText.trim()
  const empty = chosen.length === 0 && text === ''
  if (empty) return question.required === true ? 'An answer is required.' : undefined
  if (question.multiSelect === true && text === '') {
    if (chosen.length < (question.minItems ?? 0)) return `Choose at least ${question.minItems}.`
    if (chosen.length > (question.maxItems ?? Number.POSITIVE_INFINITY)) return `Choose at most ${question.maxItems}.`
  }
  if (chosen.length > 0 && text === '') return undefined
  if (isNumber(question)) {
    const value = Number(text)
    if (!Number.isFinite(value)) return 'Enter a number.'
    if (question.valueType === 'integer' && !Number.isInteger(value)) return 'Enter a whole number.'
    if (value < (question.minimum ?? Number.NEGATIVE_INFINITY)) return `Enter at least ${question.minimum}.`
    if (value > (question.maximum ?? Number.POSITIVE_INFINITY)) return `Enter at most ${question.maximum}.`
    return undefined
  }
  const { length } = [...text]
  if (length < (question.minLength ?? 0)) return `Enter at least ${question.minLength} characters.`
  if (length > (question.maxLength ?? 4000)) return `Enter at most ${question.maxLength ?? 4000} characters.`
  return undefined
}

/** Returns the message that answers a form: text for a single plain question, else values by field. */
export function answerMessage(questions: readonly Question[], answers: readonly Answer[]): string {
  const [only] = questions
  const [answer] = answers
  if (only !== undefined && answer !== undefined && questions.length === 1 && only.multiSelect !== true) {
    const label = only.options[answer.chosen[0] ?? -1]
    const plain = answer.freeText.trim() === '' ? label : answer.freeText.trim()
    // Words that begin an object would be read as one.
    if (plain !== undefined && !plain.startsWith('{')) return plain
  }
  const entries = questions.flatMap((question, index) => {
    const value = answeredValue(question, answers[index] ?? { chosen: [], freeText: '' })
    return value === undefined ? [] : [[fieldOf(question, index, answers[index]), value] as const]
  })
  return JSON.stringify(Object.fromEntries(entries))
}

function fieldOf(question: Question, index: number, answer: Answer | undefined): string {
  const custom = answer !== undefined && answer.freeText.trim() !== '' && question.options.length > 0
  return (custom ? question.customFieldId : undefined) ?? question.fieldId ?? String(index)
}

function answeredValue(question: Question, { chosen, freeText }: Answer): unknown {
  const text = freeText.trim()
  const labels = chosen.map(at => question.options[at] ?? '')
  if (text !== '') {
    if (isNumber(question) && question.options.length === 0) return Number(text)
    return question.multiSelect === true && question.customFieldId === undefined ? [...labels, text] : text
  }
  if (labels.length === 0) return undefined
  return question.multiSelect === true ? labels : labels[0]
}

/** Returns true if the question asks for a number. */
export function isNumber({ valueType }: Question): boolean {
  return valueType === 'number' || valueType === 'integer'
}
