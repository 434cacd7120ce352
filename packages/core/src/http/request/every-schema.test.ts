import { operationIds, operationOf } from '@berth/contract'
import { describe, expect, test } from 'vitest'
import { lazySerializer } from '../reply/lazy-serializer.ts'
import { lazyValidator } from './validator.ts'

// A process compiles a schema when it first needs it, so no start of a service would tell that one cannot be compiled.
describe.each(operationIds)('the schemas of %s', id => {
  const row = operationOf(id)

  test('of its request can be compiled', () => {
    const schemas = [row.query, row.headers, row.body, ...Object.values(row.params?.properties ?? {})]
    for (const schema of schemas)
      if (schema !== undefined) expect(lazyValidator(schema)({}, true)).toBeInstanceOf(Array)
  })

  test('of its answers can be compiled', () => {
    for (const [status, { schema }] of Object.entries(row.responses)) {
      if (schema === undefined) continue
      const serialise = lazySerializer({ schema, method: row.method, url: row.path, httpStatus: status })
      // A value without the required members, or of none of the forms, is refused by the serialiser, which has been compiled by then.
      expect(() => serialise(undefined)).not.toThrow(/(?<!does not match )schema|compile|ref/i)
    }
  })
})
