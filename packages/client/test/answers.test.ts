import { describe, expect, test } from 'vitest'
import { type Answer, answerMessage, faultOf, initialAnswer, type Question } from '../src/answers.ts'

const question = (more: Partial<Question> = {}): Question => ({ question: 'Which?', options: [], ...more })
const colours = question({ options: ['Red', 'Blue'], optionValues: ['r', 'b'] })
const typed = (text: string): Answer => ({ chosen: [], freeText: text })
const chosen = (...at: number[]): Answer => ({ chosen: at, freeText: '' })

describe('the message of an answer', () => {
  test.each([
    ['an option of one question', [colours], [chosen(1)], 'Blue'],
    ['words for one question', [question()], [typed(' Ada ')], 'Ada'],
    ['words that look like an object', [question()], [typed('{x')], '{"0":"{x"}'],
    ['several options', [{ ...colours, fieldId: 'c', multiSelect: true }], [chosen(0, 1)], '{"c":["Red","Blue"]}'],
    [
      'several questions, by field and by place',
      [{ ...colours, fieldId: 'c' }, question()],
      [chosen(0), typed('Ada')],
      '{"1":"Ada","c":"Red"}',
    ],
    ['a number', [question({ valueType: 'integer' }), question()], [typed('80'), typed('')], '{"0":80}'],
    [
      'an answer of one’s own, in its field',
      [{ ...colours, fieldId: 'c', customFieldId: 'other' }, question()],
      [typed('green'), typed('')],
      '{"other":"green"}',
    ],
    ['nothing that was left out', [colours, question()], [typed(''), typed('x')], '{"1":"x"}'],
  ] as const)('is %s', (_, questions, answers, message) => {
    expect(answerMessage([...questions] as Question[], answers)).toBe(message)
  })
})

test.each([
  ['a required one without an answer', question({ required: true }), typed(' '), 'An answer is required.'],
  ['an optional one without an answer', question({ minLength: 3 }), typed(''), undefined],
  ['too few options', { ...colours, multiSelect: true, minItems: 2 }, chosen(0), 'Choose at least 2.'],
  ['too many options', { ...colours, multiSelect: true, maxItems: 1 }, chosen(0, 1), 'Choose at most 1.'],
  ['no number', question({ valueType: 'number' }), typed('x'), 'Enter a number.'],
  ['half a number', question({ valueType: 'integer' }), typed('1.5'), 'Enter a whole number.'],
  ['too small a number', question({ valueType: 'number', minimum: 0 }), typed('-1'), 'Enter at least 0.'],
  ['too great a number', question({ valueType: 'number', maximum: 9 }), typed('10'), 'Enter at most 9.'],
  ['too short a text', question({ minLength: 3 }), typed('ab'), 'Enter at least 3 characters.'],
  ['too long a text', question({ maxLength: 1 }), typed('ab'), 'Enter at most 1 characters.'],
  ['a text of two characters that are four units', question({ maxLength: 2 }), typed('😀😀'), undefined],
] as const)('%s is judged', (_, form, answer, fault) => {
  expect(faultOf(form as Question, answer)).toBe(fault)
})

test.each([
  [question({ defaultValue: 'x' }), typed('x')],
  [question({ valueType: 'integer', defaultValue: 80 }), typed('80')],
  [{ ...colours, defaultValue: 'b' }, chosen(1)],
  [{ ...colours, defaultValue: 'Red' }, chosen(0)],
  [{ ...colours, multiSelect: true, defaultValue: ['r', 'b'] }, chosen(0, 1)],
  [{ ...colours, defaultValue: 'green' }, chosen()],
  [question(), typed('')],
] as const)('a form begins with its defaults: %j', (form, answer) => {
  expect(initialAnswer(form as Question)).toEqual(answer)
})
