import { interactionLimits as bounds } from '@berth/contract'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readForm } from './acp-form.ts'

/** Reads a form with this one property, and returns only the fields that depend on the property. */
function field(property: object): object {
  const [{ question: _, fieldId: __, ...rest } = { question: '', options: [] }] = readForm('m', {
    properties: { p: property },
  })
  return rest
}

describe('a property of a form', () => {
  test.each([
    [
      'text',
      { type: 'string', minLength: 1, maxLength: 9, pattern: '^a', format: 'email', default: 'x' },
      {
        options: [],
        valueType: 'string',
        minLength: 1,
        maxLength: 9,
        pattern: '^a',
        format: 'email',
        defaultValue: 'x',
      },
    ],
    [
      'text with bounds and an unknown format',
      { type: 'string', minLength: -1, maxLength: 1e9, pattern: 'x'.repeat(200), format: 'ssn' },
      { options: [], valueType: 'string' },
    ],
    [
      'text with a pattern that no text can be held against here',
      { type: 'string', pattern: '^(?=a)' },
      { options: [], valueType: 'string' },
    ],
    ['text with an invalid pattern', { type: 'string', pattern: '(' }, { options: [], valueType: 'string' }],
    [
      'an enum',
      { type: 'string', enum: ['a', 'b'], default: 'b' },
      { options: ['a', 'b'], optionValues: ['a', 'b'], valueType: 'string', recommendedIndex: 1, defaultValue: 'b' },
    ],
    [
      'titled options',
      { type: 'string', oneOf: [{ const: 'a', title: 'Option A' }, { const: 'b' }, 7] },
      { options: ['Option A', 'b'], optionValues: ['a', 'b'], valueType: 'string' },
    ],
    [
      'a list',
      { type: 'array', items: { anyOf: [{ const: 'a', title: 'A' }] }, minItems: 1, maxItems: 99, default: ['a', 'x'] },
      {
        options: ['A'],
        optionValues: ['a'],
        valueType: 'string[]',
        multiSelect: true,
        minItems: 1,
        defaultValue: ['a'],
      },
    ],
    [
      'a number',
      { type: 'number', minimum: 0.5, maximum: 'x', default: 1 },
      { options: [], valueType: 'number', minimum: 0.5, defaultValue: 1 },
    ],
    ['a whole number', { type: 'integer', default: '1' }, { options: [], valueType: 'integer' }],
    [
      'yes or no',
      { type: 'boolean', default: false, title: 'Sure?' },
      {
        options: ['Yes', 'No'],
        optionValues: [true, false],
        valueType: 'boolean',
        recommendedIndex: 1,
        defaultValue: false,
        header: 'Sure?',
      },
    ],
    [
      'facts that the schema cannot express',
      { type: 'string', enum: ['a'], _meta: { berth: { header: 'H', recommendedIndex: 0, customFieldId: 'c' } } },
      {
        options: ['a'],
        optionValues: ['a'],
        valueType: 'string',
        header: 'H',
        recommendedIndex: 0,
        allowCustom: true,
        customFieldId: 'c',
      },
    ],
    [
      'an invalid recommendation',
      { type: 'string', enum: ['a'], _meta: { berth: { recommendedIndex: 7 } } },
      { options: ['a'], optionValues: ['a'], valueType: 'string' },
    ],
  ])('may be %s', (_, property, expected) => {
    expect(field(property)).toEqual(expected)
  })

  test.each([{ type: 'object' }, { type: 'array', items: {} }, { type: 7 }, 'string', null])(
    'is left out if nobody can fill it in: %j',
    property => {
      expect(readForm('m', { properties: { p: property, q: { type: 'number' } } })).toMatchObject([{ fieldId: 'q' }])
    },
  )
})

describe('a form', () => {
  const text = { type: 'string' }
  test('asks its message, before the first of several', () => {
    const titled = { type: 'string', title: 'Name' }
    expect(readForm('Who?', { properties: { a: titled } })).toMatchObject([{ question: 'Who?', header: 'Name' }])
    expect(readForm('Who?', { properties: { a: titled, b: text }, required: ['b'] })).toMatchObject([
      { question: 'Who?\n\nName', fieldId: 'a' },
      { question: 'b', fieldId: 'b', required: true },
    ])
  })

  test('takes any text if it has no properties', () => {
    expect(readForm('Go on?', {})).toEqual([{ question: 'Go on?', options: [], allowCustom: true }])
  })

  test('holds at most four questions, twenty options and the bounded length of each text', () => {
    const long = '😀'.repeat(3000)
    const wide = {
      type: 'string',
      title: long,
      description: long,
      enum: Array.from({ length: 50 }, (_, i) => `${i}${long}`),
    }
    const form = readForm(long, { properties: Object.fromEntries('abcdef'.split('').map(name => [name, wide])) })
    expect(form.map(({ fieldId }) => fieldId)).toEqual(['a', 'b', 'c', 'd'])
    for (const { question, header = '', options, optionValues } of form) {
      expect([[...question].length, [...header].length, options.length, optionValues?.length]).toEqual([
        2000, 80, 20, 20,
      ])
      for (const option of options) expect([...option]).toHaveLength(500)
    }
  })

  test('leaves out options whose values are more than a row may hold', () => {
    const values = ['x'.repeat(700_000), 'y'.repeat(700_000), 'z']
    const [question] = readForm('Which?', { properties: { a: { type: 'string', enum: values } } })
    expect(question?.optionValues).toEqual([values[0], 'z'])
  })

  test('takes each of its options once as a default', () => {
    const property = { type: 'array', items: { enum: ['a', 'b'] }, default: Array.from({ length: 1000 }, () => 'a') }
    expect(readForm('Which?', { properties: { a: property } })).toMatchObject([{ defaultValue: ['a'] }])
  })

  test('answers no field whose name is too long to be shown', () => {
    const _meta = { berth: { customFieldId: 'x'.repeat(129) } }
    const [question] = readForm('Which?', { properties: { a: { type: 'string', enum: ['a'], _meta } } })
    expect(question).toMatchObject({ allowCustom: true, fieldId: 'a' })
    expect(question).not.toHaveProperty('customFieldId')
  })

  test('can be shown whatever the agent sends', () => {
    const property = fc.dictionary(
      fc.constantFrom('type', 'enum', 'oneOf', 'items', 'default', 'title', 'minLength', 'maxItems', '_meta'),
      fc.oneof(fc.constantFrom('string', 'array', 'boolean', 'integer'), fc.jsonValue()),
    )
    const schema = fc.record({
      properties: fc.dictionary(fc.string(), fc.oneof(property, fc.jsonValue())),
      required: fc.jsonValue(),
    })
    fc.assert(
      fc.property(fc.string(), schema, (message, given) => {
        const form = readForm(message, given)
        expect(form.length).toBeGreaterThanOrEqual(1)
        expect(form.length).toBeLessThanOrEqual(bounds.questions)
        for (const { options, optionValues } of form)
          expect(optionValues?.length ?? options.length).toBe(options.length)
      }),
    )
  })
})
