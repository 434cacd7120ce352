import { describe, expect, expectTypeOf, test } from 'vitest'
import {
  type CreateSession,
  capabilities,
  errors,
  eventTypes,
  operationIds,
  operationOf,
  type RequestBody,
  type RequestHeaders,
  type RequestParams,
  type RequestQuery,
} from './index.ts'

describe('the route table', () => {
  test.each(operationIds)('%s names what it needs and what it takes', id => {
    const row = operationOf(id)
    if (row.access !== 'public') expect(capabilities).toContain(row.capability)
    else expect(row).not.toHaveProperty('capability')
    const segments = [...row.path.matchAll(/\{(\w+)\}/g)].map(match => match[1])
    expect(Object.keys(row.params?.properties ?? {})).toEqual(segments)
    for (const code of row.errors) expect(errors).toHaveProperty(code)
    // Of a format that the gateway only passes on, the rest is the provider's to judge.
    const isOpen = row.access === 'gateway' && row.dialect !== 'openai'
    if (row.body !== undefined) expect(row.body).toHaveProperty('additionalProperties', isOpen)
    if (row.query !== undefined) expect(row.query).toHaveProperty('additionalProperties', false)
  })

  test('no two rows share method and path', () => {
    const places = operationIds.map(operationOf).map(row => `${row.method} ${row.path}`)
    expect(new Set(places).size).toBe(places.length)
  })

  test('only the contract itself is public', () => {
    const open = operationIds.map(operationOf).filter(row => row.access === 'public')
    expect(open.map(row => `${row.method} ${row.path}`)).toEqual(['GET /v1/openapi.json', 'GET /v1/docs'])
  })

  test('types follow the table', () => {
    expectTypeOf<RequestBody<'createSession'>>().toEqualTypeOf<CreateSession>()
    expectTypeOf<RequestBody<'cancelRun'>>().toEqualTypeOf<undefined>()
    expectTypeOf<RequestParams<'getRun'>>().toEqualTypeOf<{ sessionId: string; runId: string }>()
    expectTypeOf<RequestQuery<'listTurns'>>().toEqualTypeOf<{ limit: number; after: number }>()
    expectTypeOf<RequestHeaders<'streamEvents'>>().toEqualTypeOf<{ 'last-event-id'?: number }>()
  })
})

test('the catalog has twenty-three Event types', () => {
  expect(eventTypes).toHaveLength(23)
})
