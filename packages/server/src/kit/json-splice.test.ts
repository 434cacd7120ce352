import fc from 'fast-check'
import { expect, test } from 'vitest'
import { spliceMembers } from './json-splice.ts'

const splice = (text: string, members: Record<string, string>) => spliceMembers(Buffer.from(text), members).toString()

test('sets existing members and adds missing ones, in any object with any spacing', () => {
  const values = fc.jsonValue({ maxDepth: 3, noUnicodeString: false })
  fc.assert(
    fc.property(fc.dictionary(fc.string(), values), fc.constantFrom(0, 2, '\t'), (object, space) => {
      const spliced = splice(JSON.stringify(object, null, space), { model: '"m"', added: '{"a":[1]}' })
      expect(JSON.parse(spliced)).toEqual(JSON.parse(JSON.stringify({ ...object, model: 'm', added: { a: [1] } })))
    }),
  )
})

test('leaves every other byte unchanged', () => {
  expect(splice('{ "a" : 1.0 ,"model":"x\\"}", "b":[ {"model":1} ] }', { model: '"m"' })).toBe(
    '{ "a" : 1.0 ,"model":"m", "b":[ {"model":1} ] }',
  )
})

test('sets a repeated or escaped name everywhere', () => {
  expect(splice('{"model":"a","mod\\u0065l":"b","model":{"c":1}}', { model: '"m"' })).toBe(
    '{"model":"m","mod\\u0065l":"m","model":"m"}',
  )
})
