import { outputLimits } from '@berth/contract'
import { describe, expect, test } from 'vitest'
import { ApiError } from '../../kit/api-error.ts'
import { judgeOutput } from './judge-output.ts'
import { checkOutputSchema } from './output-schema.ts'
import { unsafePattern } from './pattern.ts'

const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
const nested = (levels: number): Record<string, unknown> =>
  levels === 0 ? { type: 'string' } : { properties: { a: nested(levels - 1) } }

/** Returns the issue of a refusal as `path: message`; null if the schema is accepted. */
function refused(schema: Record<string, unknown>): string | null {
  try {
    checkOutputSchema(schema, ['output', 'schema'])
    return null
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const [issue] = error.fields['issues'] as { path: (string | number)[]; message: string }[]
    expect(issue?.path.slice(0, 2)).toEqual(['output', 'schema'])
    return `${issue?.path.slice(2).join('.')}: ${issue?.message}`
  }
}

describe('a schema for the result of a Turn', () => {
  test.each([
    [{}],
    [{ type: 'string' }],
    [
      object(
        { name: { type: 'string', pattern: '^[a-z]+(-[a-z]+)*$' } },
        { required: ['name'], additionalProperties: false },
      ),
    ],
    [
      {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'array',
        items: { $ref: '#/$defs/a' },
        $defs: { a: { type: 'integer' } },
      },
    ],
    [{ anyOf: [{ $ref: '#/definitions/a~1b' }, { const: null }], definitions: { 'a/b': { format: 'date-time' } } }],
    [nested(15)],
  ])('is accepted: %j', schema => {
    expect(refused(schema)).toBeNull()
  })

  test.each([
    [{ type: 'strng' }, /^type: is not JSON Schema 2020-12/],
    [object({ a: { minLength: -1 } }), /^properties\.a\.minLength: is not JSON Schema/],
    [object({ a: { nullable: true } }), /^properties\.a\.nullable: is no keyword .* remove it/],
    [{ $schema: 'https://example.com/schema' }, /^\$schema: must be https/],
    [{ $id: 'https://example.com/a' }, /^\$id: is no keyword/],
    [{ $dynamicRef: '#a' }, /^\$dynamicRef: is no keyword/],
    [{ items: { $ref: 'https://example.com/a.json' } }, /^items\.\$ref: must be "#\/\$defs\/".* nothing is fetched/],
    [{ $ref: '#/$defs/b', $defs: { a: {} } }, /^\$ref: refers to a definition/],
    [{ $ref: '#' }, /^\$ref: must be/],
    [{ $defs: { a: { items: { $ref: '#/$defs/b' } }, b: { items: { $ref: '#/$defs/a' } } } }, /part of; write out/],
    [{ items: { $defs: { a: {} } } }, /^items\.\$defs: must be at the top/],
    [{ format: 'hostname' }, /^format: must be one of .*; or use a pattern/],
    [{ pattern: '(' }, /^pattern: is not JSON Schema|^pattern: is not a regular expression/],
    [{ patternProperties: { '^(a+)+$': {} } }, /^patternProperties\.\^\(a\+\)\+\$: repeats a group/],
    [nested(40), /^: is nested deeper than 32/],
    [{ description: 'x'.repeat(outputLimits.schemaBytes) }, /^: has \d+ bytes; at most 32768/],
    [{ items: { $ref: '#/$defs/d9' }, $defs: doubling(9) }, /more than 1000 schemas/],
  ])('is refused with its place and the mending: %j', (schema, expected) => {
    expect(refused(schema)).toMatch(expected)
  })
})

/** Definitions that each hold the one before twice. */
function doubling(levels: number): Record<string, unknown> {
  const defs: Record<string, unknown> = { d0: {} }
  for (let n = 1; n <= levels; n += 1) defs[`d${n}`] = { allOf: Array(2).fill({ $ref: `#/$defs/d${n - 1}` }) }
  return defs
}

describe('a pattern', () => {
  test.each([
    '^[A-Z]{3}-\\d+$',
    '^(foo|bar)$',
    '^[a-z0-9]+(-[a-z0-9]+)*$',
    '^(\\+\\d{1,3} )?\\d{4,10}$',
    '^.*@.*\\.[a-z]+$',
    '^v\\d+(\\.\\d+){2}$',
    '^[\\p{L} ]+$',
    '^\\d{4}-\\d{2}-\\d{2}$',
    '^(?<year>\\d{4})$',
    'a|b|c',
  ])('is accepted: %s', pattern => {
    expect(unsafePattern(pattern)).toBeNull()
  })

  test.each([
    ['^(a+)+$', 'repeats a group'],
    ['^(a|a)*$', 'repeats a group'],
    ['^([a-z]+)*$', 'repeats a group'],
    ['^(a?b?)*$', 'repeats a group'],
    ['^(-a+-?)+$', 'repeats a group'],
    ['^(a{1,9}){1,9}$', 'repeats a group'],
    ['^((ab?)*c?)*$', 'repeats a group'],
    ['a*a*a*a*b', 'side by side'],
    ['^\\s*\\w*\\s*.*\\s*x?\\s*$', 'side by side'],
    ['(a)\\1', 'back'],
    ['(?=a)b', 'ahead'],
    ['(?<!a)b', 'ahead'],
    ['a'.repeat(513), 'longer'],
  ])('is refused: %s', (pattern, expected) => {
    expect(unsafePattern(pattern)).toContain(expected)
  })
})

describe('an answer', () => {
  const schema = object({ n: { type: 'integer' } }, { required: ['n'] })

  test.each([
    ['{"n":1}', '{"n":1}'],
    ['Done.\n\n```json\n{ "n": 1 }\n```\n', '{"n":1}'],
    ['```json\n{"n":1}\n```\nor\n```\n{"n":2}\n```', '{"n":2}'],
    ['```ts\nlet n\n```\n```JSON\n{"n":3}\n```\nThat is it.', '{"n":3}'],
    ['building\n{"n":4}', '{"n":4}'],
    ['{"n":1,"z":-0,"a":1.0}', '{"n":1,"z":0,"a":1}'],
  ])('gives its JSON value: %j', (answer, json) => {
    expect(judgeOutput(schema, answer)).toEqual({ kind: 'accepted', json })
  })

  test.each<[string, (string | number)[], RegExp]>([
    ['I could not find it.', [], /is not there/],
    ['```json\n{"n":1\n```', [], /is not there/],
    ['{"n":"1"}', ['n'], /must be integer/],
    ['{}', ['n'], /is required/],
    ['{"n":1e999}', ['n'], /must be integer/],
    ['{"n":1,"s":"\\u0000"}', [], /U\+0000/],
    ['{"n":1,"s":"\\ud800"}', [], /surrogate/],
    [`{"n":1,"d":${'['.repeat(100)}${']'.repeat(100)}}`, [], /nested deeper than 64/],
    [`{"n":1,"s":"${'x'.repeat(outputLimits.valueBytes)}"}`, [], /longer than 65536 bytes/],
  ])('is rejected with the place of its fault: %j', (answer, path, message) => {
    expect(judgeOutput(schema, answer)).toEqual({
      kind: 'rejected',
      issues: [{ path, message: expect.stringMatching(message) }],
    })
  })

  test('is told of its first faults alone', () => {
    const verdict = judgeOutput({ items: { type: 'string' } }, JSON.stringify(Array(100).fill(1)))
    expect(verdict).toMatchObject({ kind: 'rejected', issues: { length: outputLimits.issues } })
  })

  test('that would be checked for ever is rejected', () => {
    // No admitted schema has such a pattern; a high power on a long text is enough.
    expect(judgeOutput({ pattern: '^(a+)+$' }, `"${'a'.repeat(60)}b"`)).toEqual({
      kind: 'rejected',
      issues: [{ path: [], message: expect.stringContaining('takes too long') }],
    })
  })
})
