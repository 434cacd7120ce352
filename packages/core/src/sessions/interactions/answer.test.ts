import type { Question } from '@berth/contract'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import { describe, expect, test } from 'vitest'
import { readFormAnswer, readPlanAnswer } from './answer.ts'

const question = (more: Partial<Question> = {}): Question => ({
  question: 'Which?',
  options: [],
  fieldId: 'f',
  ...more,
})
const colours = question({ options: ['Red', 'Blue'], optionValues: ['r', 'b'] })
const many = { ...colours, multiSelect: true, valueType: 'string[]' as const, minItems: 1, maxItems: 2 }
const port = question({ valueType: 'integer', minimum: 1, maximum: 65_535 })

/** Returns the content that a form reads from a message, or the refused field and the reason. */
function read(form: Question | readonly Question[], message: string): unknown {
  try {
    return readFormAnswer(Array.isArray(form) ? form : [form as Question], message).content
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const [issue] = error.fields['issues'] as { path: string[]; message: string }[]
    expect(issue?.path[0]).toBe('message')
    return [...(issue?.path.slice(1) ?? []), issue?.message].join(' ')
  }
}

describe('an answer by field', () => {
  test.each([
    ['a value of the options', colours, { f: 'r' }, { f: 'r' }],
    ['a label of the options', colours, { f: 'Blue' }, { f: 'b' }],
    ['a question by its index', colours, { 0: 'b' }, { f: 'b' }],
    ['a question without a field', question({ fieldId: undefined } as never), { 0: 'x' }, { 0: 'x' }],
    ['a value that is no option', colours, { f: 'green' }, 'f is not one of the options'],
    ['a custom answer if the question allows one', { ...colours, allowCustom: true }, { f: 'green' }, { f: 'green' }],
    [
      'a custom answer with a field of its own',
      { ...colours, allowCustom: true, customFieldId: 'g' },
      { f: 'green' },
      { g: 'green' },
    ],
    ['the custom field by its name', { ...colours, customFieldId: 'g' }, { g: 'green' }, { g: 'green' }],
    ['several options', many, { f: ['Red', 'b'] }, { f: ['r', 'b'] }],
    ['an option twice', many, { f: ['r', 'Red'] }, 'f holds an option twice'],
    ['too few options', many, { f: [] }, 'f holds fewer than 1'],
    ['too many options', { ...many, maxItems: 1 }, { f: ['r', 'b'] }, 'f holds more than 1'],
    ['one option for a list', many, { f: 'r' }, 'f is not a list'],
    ['a list with a value that is no option', many, { f: ['x'] }, 'f holds a value that is not one of the options'],
    ['a whole number', port, { f: 80 }, { f: 80 }],
    ['a number as text', port, { f: '80' }, 'f is not a number'],
    ['half a number', port, { f: 80.5 }, 'f is not a whole number'],
    ['too small a number', port, { f: 0 }, 'f is less than 1'],
    ['too great a number', port, { f: 70_000 }, 'f is more than 65535'],
    ['a number', question({ valueType: 'number' }), { f: 0.5 }, { f: 0.5 }],
    [
      'a boolean',
      question({ valueType: 'boolean', options: ['Yes', 'No'], optionValues: [true, false] }),
      { f: false },
      { f: false },
    ],
    [
      'a boolean by its label',
      question({ options: ['Yes', 'No'], optionValues: [true, false] }),
      { f: 'Yes' },
      { f: true },
    ],
    ['text', question(), { f: '😀' }, { f: '😀' }],
    ['a number for text', question(), { f: 7 }, 'f is not text'],
    ['too short a text', question({ minLength: 2 }), { f: '😀' }, 'f is shorter than 2 characters'],
    ['too long a text', question({ maxLength: 1 }), { f: 'ab' }, 'f is longer than 1 characters'],
    ['text beyond the bound of every answer', question(), { f: 'x'.repeat(4001) }, 'f is longer than 4000 characters'],
    ['text that matches the pattern', question({ pattern: '^v\\d+$' }), { f: 'v1' }, { f: 'v1' }],
    ['text that does not match', question({ pattern: '^v\\d+$' }), { f: 'x' }, 'f does not match ^v\\d+$'],
    [
      'text against a pattern of a high power',
      question({ pattern: '^(a+)+$' }),
      { f: `${'a'.repeat(60)}!` },
      'f does not match ^(a+)+$',
    ],
    [
      'text against a pattern that cannot be checked',
      question({ pattern: '(?=a)' }),
      { f: 'a' },
      'f cannot be checked against (?=a); give a shorter text',
    ],
    [
      'text that is too long for its pattern',
      question({ pattern: '^(?:a|b)*a(?:a|b){400}$' }),
      { f: 'a'.repeat(4_000) },
      'f cannot be checked against ^(?:a|b)*a(?:a|b){400}$; give a shorter text',
    ],
    ['nothing', question(), {}, {}],
    ['null', question(), { f: null }, {}],
    ['nothing for a required field', question({ required: true }), {}, 'f is required'],
    ['nothing for a field with a default', question({ required: true, defaultValue: 'x' }), {}, { f: 'x' }],
    ['another field', question(), { x: 1 }, 'x is not a field of the question'],
  ])('is accepted or refused by its rules: %s', (_, form, message, expected) => {
    expect(read(form as Question, JSON.stringify(message))).toEqual(expected)
  })

  test('keeps a field that has the name of a member of every object', () => {
    const form = ['__proto__', 'constructor'].map(fieldId => question({ fieldId }))
    expect(JSON.stringify(readFormAnswer(form, '{"__proto__":"a","constructor":"b"}').content)).toBe(
      '{"__proto__":"a","constructor":"b"}',
    )
  })

  test.each([
    ['email', ['a@b.example'], ['a@b', 'a b@c.d']],
    ['uri', ['https://a.example/x', 'mailto:a@b.c'], ['example', '//x']],
    ['date', ['2024-02-29'], ['2023-02-29', '2024-2-1', 'x']],
    [
      'date-time',
      ['2024-02-29T10:00:00Z', '2024-02-29T10:00:00.5+02:00'],
      ['2024-02-29', '2024-02-30T10:00:00Z', '2024-02-29T25:00:00Z'],
    ],
  ] as const)('must have the format %s if the question asks for it', (format, good, bad) => {
    const form = question({ format })
    for (const f of good) expect(read(form, JSON.stringify({ f }))).toEqual({ f })
    for (const f of bad) expect(read(form, JSON.stringify({ f }))).toBe(`f is not a valid ${format}`)
  })
})

describe('an answer in words', () => {
  test.each([
    ['an option', colours, ' blue ', { f: 'b' }],
    ['an option of several', many, 'Red', { f: ['r'] }],
    ['no option', colours, 'green, please', { f: 'green, please' }],
    ['no option, if there is a custom field', { ...colours, customFieldId: 'g' }, 'green', { g: 'green' }],
    ['a number', port, ' 80 ', { f: 80 }],
    ['no number', port, 'eighty', { f: 'eighty' }],
    ['an option of a later question', [question(), { ...colours, fieldId: 'c' }], 'Red', { c: 'r' }],
    ['the first question that takes words', [colours, question({ fieldId: 'n' })], 'Ada', { n: 'Ada' }],
    ['JSON that is not an object', question(), '[1]', { f: '[1]' }],
    ['half an object', question(), '{"f": ', { f: '{"f": ' }],
    ['a question without a field', { question: 'x', options: [] }, 'yes', {}],
    ['a number, if the other field takes only words', [port, { ...colours, fieldId: 'c' }], '80', { f: 80 }],
    ['words, if the other field takes only a number', [port, question({ fieldId: 'n' })], 'Ada', { n: 'Ada' }],
    [
      'one of two questions, if the other has a default',
      [{ ...colours, required: true }, question({ fieldId: 'n', required: true, defaultValue: 'Ada' })],
      'Red',
      { f: 'r', n: 'Ada' },
    ],
  ])('is accepted if it can mean only one question: %s', (_, form, message, expected) => {
    expect(read(form as Question, message)).toEqual(expected)
    expect(readFormAnswer([form].flat() as Question[], message).text).toBe(message)
  })
})

describe('an answer in words to several questions', () => {
  const [first, second] = [question({ required: true }), question({ fieldId: 'n', required: true })]
  const optional = question({ fieldId: 'n' })
  const all = '"f" (required), "n" (required)'
  test.each([
    ['several take words', [first, second], 'Ada', all],
    ['several take words and none is required', [question(), optional], 'Ada', '"f", "n"'],
    ['several have the option', [colours, { ...colours, fieldId: 'n' }], 'red', '"f", "n"'],
    ['a number may answer either', [port, optional], '80', '"f", "n"'],
    ['none takes words', [colours, { ...colours, fieldId: 'n' }], 'green', '"f", "n"'],
    ['a required one would stay open', [{ ...colours, required: true }, second], 'Red', all],
  ])('is refused with the names of the fields if %s', (_, form, message, fields) => {
    expect(read(form as Question[], message)).toBe(
      `does not say which question it answers; send a JSON object of ${fields}`,
    )
  })
})

test('a plan is approved by the word approve, and any other text is feedback', () => {
  expect([' APPROVE\n', 'approved', '{"a":1}'].map(readPlanAnswer)).toEqual([
    { approved: true },
    { approved: false, text: 'approved' },
    { approved: false, text: '{"a":1}' },
  ])
})
