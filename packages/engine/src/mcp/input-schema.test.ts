import { describe, expect, test } from 'vitest'
import { inputSchemaOf } from './input-schema.ts'

describe('inputSchemaOf', () => {
  test.each([
    ['missing', undefined],
    ['a text', 'object'],
    ['a list', [{ type: 'object' }]],
    ['the schema of a string', { type: 'string' }],
    ['a schema without a type', { properties: {} }],
    ['too large', { type: 'object', description: 'x'.repeat(40_000) }],
  ])('returns null if the schema is %s', (_, given) => {
    expect(inputSchemaOf(given)).toBeNull()
  })

  test('keeps a valid schema as it is', () => {
    const schema = {
      type: 'object',
      properties: {
        path: { type: 'string', pattern: '^/', description: 'Where' },
        rows: { type: 'array', items: { $ref: '#/$defs/row' } },
        kind: { anyOf: [{ const: 'a' }, { type: ['integer', 'null'] }] },
      },
      required: ['path'],
      additionalProperties: false,
      $defs: { row: { type: 'object', properties: { next: { $ref: '#/$defs/row' } } } },
    }
    expect(inputSchemaOf(schema)).toEqual(schema)
  })

  test.each<[string, object, object]>([
    ['a choice at its root', { anyOf: [{ required: ['a'] }], $schema: 'x' }, { properties: {} }],
    [
      'an array without items',
      { properties: { a: { type: 'array' } } },
      { properties: { a: { type: 'array', items: {} } } },
    ],
    ['an invalid pattern', { properties: { a: { pattern: '(' } } }, { properties: { a: {} } }],
    [
      'a property pattern that is invalid',
      { patternProperties: { '(': {} } },
      { properties: {}, patternProperties: {} },
    ],
    [
      'a reference to another document',
      { properties: { a: { $ref: 'https://a.example/b' } } },
      { properties: { a: {} } },
    ],
    ['a reference to nothing', { properties: { a: { $ref: '#/$defs/b' } } }, { properties: { a: {} } }],
    ['an unknown type', { properties: { a: { type: 'text' } } }, { properties: { a: {} } }],
    ['an empty choice', { properties: { a: { oneOf: [] } } }, { properties: { a: {} } }],
    ['properties that are not schemas', { properties: { a: 'string', b: null } }, { properties: { a: {}, b: {} } }],
    ['a list of required names that is no list', { required: 'a' }, { properties: {} }],
  ])('drops or mends %s', (_, given, left) => {
    expect(inputSchemaOf({ type: 'object', ...given })).toEqual({ type: 'object', ...left })
  })

  test('cuts schemas below the depth limit', () => {
    let deep: object = { type: 'text' }
    for (let depth = 0; depth < 200; depth += 1) deep = { properties: { a: deep } }
    expect(JSON.stringify(inputSchemaOf({ type: 'object', ...deep }))).not.toContain('text')
  })
})
