import { describe, expect, test } from 'vitest'
import { inputSchemaOf } from './input-schema.ts'

describe('the schema of a tool', () => {
  test.each([
    ['no schema', undefined],
    ['a text', 'object'],
    ['a list', [{ type: 'object' }]],
    ['one of no object', { type: 'string' }],
    ['one without a type', { properties: {} }],
    ['too much', { type: 'object', description: 'x'.repeat(40_000) }],
  ])('is of no use where it is %s', (_, given) => {
    expect(inputSchemaOf(given)).toBeNull()
  })

  test('stands as it is where it makes sense', () => {
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
      'a list of no kind',
      { properties: { a: { type: 'array' } } },
      { properties: { a: { type: 'array', items: {} } } },
    ],
    ['a pattern that is none', { properties: { a: { pattern: '(' } } }, { properties: { a: {} } }],
    ['names that are no pattern', { patternProperties: { '(': {} } }, { properties: {}, patternProperties: {} }],
    ['a reference that leads away', { properties: { a: { $ref: 'https://a.example/b' } } }, { properties: { a: {} } }],
    ['a reference that leads nowhere', { properties: { a: { $ref: '#/$defs/b' } } }, { properties: { a: {} } }],
    ['a kind of value that is none', { properties: { a: { type: 'text' } } }, { properties: { a: {} } }],
    ['a choice of nothing', { properties: { a: { oneOf: [] } } }, { properties: { a: {} } }],
    ['what is no schema', { properties: { a: 'string', b: null } }, { properties: { a: {}, b: {} } }],
    ['a list of names that is none', { required: 'a' }, { properties: {} }],
  ])('loses %s', (_, given, left) => {
    expect(inputSchemaOf({ type: 'object', ...given })).toEqual({ type: 'object', ...left })
  })

  test('goes no deeper than anybody reads', () => {
    let deep: object = { type: 'text' }
    for (let depth = 0; depth < 200; depth += 1) deep = { properties: { a: deep } }
    expect(JSON.stringify(inputSchemaOf({ type: 'object', ...deep }))).not.toContain('text')
  })
})
