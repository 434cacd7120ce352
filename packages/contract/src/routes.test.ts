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
  test.each(operationIds)('%s names a known capability, its parameters and known error codes', id => {
    const row = operationOf(id)
    if (row.access === 'bearer' || row.access === 'gateway') expect(capabilities).toContain(row.capability)
    else expect(row).not.toHaveProperty('capability')
    const segments = [...row.path.matchAll(/\{(\w+)\}/g)].map(match => match[1])
    expect(Object.keys(row.params?.properties ?? {})).toEqual(segments)
    for (const code of row.errors) expect(errors).toHaveProperty(code)
    // If the gateway only passes a format through, the provider validates the rest of the body.
    // Other systems send what they like.
    const isOpen = row.access === 'signed' || (row.access === 'gateway' && row.dialect !== 'openai')
    if (row.body !== undefined) expect(row.body).toHaveProperty('additionalProperties', isOpen)
    if (row.query !== undefined) expect(row.query).toHaveProperty('additionalProperties', false)
  })

  test('has no two operations with the same method and path', () => {
    const places = operationIds.map(operationOf).map(row => `${row.method} ${row.path}`)
    expect(new Set(places).size).toBe(places.length)
  })

  test("makes only the API's own description and the keys of statements public", () => {
    const open = operationIds.map(operationOf).filter(row => row.access === 'public')
    expect(open.map(row => `${row.method} ${row.path}`)).toEqual([
      'GET /v1/openapi.json',
      'GET /v1/docs',
      'GET /v1/docs/{group}',
      'GET /.well-known/berth-keys.json',
    ])
  })

  test('asks a browser for a recent sign-in before keys, roles, secrets, installations, Git hosts and hosts', () => {
    const recent = operationIds.filter(id => Reflect.get(operationOf(id), 'recent') === true)
    expect(recent.toSorted()).toEqual([
      ...['addConnection', 'admitHost', 'connectGitAccount', 'createApiKey', 'createIntegration', 'createInvitation'],
      ...['deleteApp', 'deleteIntegration', 'deleteTrigger', 'loseHost', 'putTrigger', 'registerAppKey'],
      ...['registerWebhook', 'removeConnection', 'removeHost', 'removeMember', 'replaceTriggerSecret', 'resetMember'],
      ...['revokeApiKey', 'revokeAppKey', 'revokeInstallation', 'updateCompute', 'updateConnection'],
      ...['updateInstallation', 'updateMember'],
    ])
  })

  test('determines the types of requests', () => {
    expectTypeOf<RequestBody<'createSession'>>().toEqualTypeOf<CreateSession>()
    expectTypeOf<RequestBody<'cancelRun'>>().toEqualTypeOf<undefined>()
    expectTypeOf<RequestParams<'getRun'>>().toEqualTypeOf<{ sessionId: string; runId: string }>()
    expectTypeOf<RequestQuery<'listTurns'>>().toEqualTypeOf<{ limit: number; after: number }>()
    expectTypeOf<RequestHeaders<'streamEvents'>>().toEqualTypeOf<{ 'last-event-id'?: number }>()
  })
})

test('the catalog contains thirty-nine Event types', () => {
  expect(eventTypes).toHaveLength(39)
})
