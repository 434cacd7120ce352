import { outputLimits } from '@berth/contract'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import { describe, expect, test } from 'vitest'
import { judgeOutput } from './judge-output.ts'
import { checkOutputSchema } from './output-schema.ts'

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
    [{ type: 'string', pattern: '^(a+)+$' }],
    [{ patternProperties: { '^a*a*a*a*$': {} } }],
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
    [{ pattern: '(' }, /^pattern: the pattern "\(" is not a regular expression/],
    [{ pattern: '^(?=a)' }, /^pattern: the pattern "\^\(\?=a\)" looks ahead or behind/],
    [object({ a: { pattern: '(a)\\1' } }), /^properties\.a\.pattern: the pattern "\(a\).*" refers back/],
    [{ patternProperties: { '^(?<!a)b': {} } }, /^patternProperties\..*: the pattern "\^\(\?<!a\)b" looks ahead/],
    [{ pattern: '(a{100}){100}' }, /^pattern: the pattern .* has more than 1000 steps/],
    [{ pattern: 'a'.repeat(outputLimits.patternCharacters + 1) }, /^pattern: is longer than 512 characters/],
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

  test.each([
    ['^a*a*a*$', `${'a'.repeat(60_000)}b`],
    ['^(a+)+$', `${'a'.repeat(60_000)}b`],
  ])('is held against a pattern of a high power: %s', (pattern, text) => {
    expect(judgeOutput({ pattern }, JSON.stringify(text))).toMatchObject({
      kind: 'rejected',
      issues: [{ message: expect.stringContaining('must match pattern') }],
    })
    expect(judgeOutput({ patternProperties: { [pattern]: false } }, JSON.stringify({ [text]: 1 }))).toMatchObject({
      kind: 'accepted',
    })
  })
})
