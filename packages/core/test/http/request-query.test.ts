import { describe, expect, test } from 'vitest'
import { readRefusal, sessionId, startTestApp } from '../../src/http/testing/test-app.ts'

const session = `/v1/sessions/${sessionId}`

describe('parameters that are refused', () => {
  test.each([
    ['/v1/sessions?limit=0', 'limit'],
    ['/v1/sessions?limit=101', 'limit'],
    ['/v1/sessions?limit=-1', 'limit'],
    ['/v1/sessions?limit=x', 'limit'],
    ['/v1/sessions?limit=', 'limit'],
    ['/v1/sessions?limit', 'limit'],
    ['/v1/sessions?limit=1.0', 'limit'],
    ['/v1/sessions?limit=1e1', 'limit'],
    ['/v1/sessions?limit=+1', 'limit'],
    ['/v1/sessions?limit=0x1', 'limit'],
    ['/v1/sessions?limit=%D9%A1', 'limit'],
    ['/v1/sessions?limit=1&limit=1', 'limit'],
    ['/v1/sessions?limit=1&l%69mit=2', 'limit'],
    ['/v1/sessions?unknown=1', 'unknown'],
    ['/v1/sessions?__proto__=1', '__proto__'],
    ['/v1/sessions?archived=false', 'archived'],
    [`/v1/sessions?cursor=${'a'.repeat(1025)}`, 'cursor'],
    ['/v1/sessions?origin.objectId=%00', 'origin.objectId'],
    ['/v1/sessions?origin.objectId=%FF', 'origin.objectId'],
    [`/v1/sessions?origin.tenantKey=${'a'.repeat(129)}`, 'origin.tenantKey'],
    [`/v1/sessions?origin.objectType=${'a'.repeat(65)}`, 'origin.objectType'],
    [`/v1/sessions?origin.objectId=${'a'.repeat(257)}`, 'origin.objectId'],
    ['/v1/sessions?sort=title', 'sort'],
    ['/v1/capabilities?x=1', 'x'],
    ['/v1/runtimes?x=1', 'x'],
    [`${session}?x=1`, 'x'],
    [`${session}/turns?limit=1&limit=1`, 'limit'],
    [`${session}/events?limit=1&limit=1`, 'limit'],
    [`${session}/turns?after=-2`, 'after'],
    [`${session}/events?after=-1`, 'after'],
    [`${session}/events?after=1.5`, 'after'],
    [`${session}/events?after=`, 'after'],
    [`${session}/events?before=1`, 'before'],
    [`${session}/events?after=-0`, 'after'],
    [`${session}/events?after=00`, 'after'],
    [`${session}/turns?after=-01`, 'after'],
    ['/v1/sessions?limit=01', 'limit'],
    ['/v1/sessions?limit=%2B1', 'limit'],
    [`${session}/events/stream?after=x`, 'after'],
    [`${session}/events/stream?limit=1`, 'limit'],
  ])('%s', async (path, parameter) => {
    await using service = await startTestApp()
    const response = await service.call('GET', path)
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: 'invalid_request', issues: [{ path: [parameter], message: expect.any(String) }] },
    ])
  })
})

describe('parameters as the handler sees them', () => {
  test.each([
    ['/v1/sessions', { limit: 50 }],
    ['/v1/sessions?limit=1', { limit: 1 }],
    ['/v1/sessions?limit=100&archived=only&', { limit: 100, archived: 'only' }],
    ['/v1/sessions?origin.objectId=a+b%2Bc%26', { limit: 50, 'origin.objectId': 'a b+c&' }],
    [`/v1/sessions?cursor=${'a'.repeat(1024)}`, { limit: 50, cursor: 'a'.repeat(1024) }],
    [`${session}/turns`, { limit: 100, after: -1 }],
    [`${session}/turns?after=-1`, { limit: 100, after: -1 }],
    [`${session}/events`, { limit: 100, after: 0 }],
    [`${session}/events?after=99999999999999999999`, { limit: 100, after: Number.MAX_SAFE_INTEGER }],
    [`${session}/events/stream?after=7`, { after: 7 }],
  ])('%s', async (path, query) => {
    await using service = await startTestApp()
    expect((await service.call('GET', path)).status).toBe(204)
    expect({ ...service.requests[0]?.request.query }).toEqual(query)
  })
})

describe('Last-Event-ID', () => {
  test.each(['x', '-1', '1.5', '1, 2', '01', '-0', '+1'])('%j is refused', async id => {
    await using service = await startTestApp()
    const response = await service.call('GET', `${session}/events/stream`, { headers: { 'last-event-id': id } })
    expect([response.status, (await readRefusal(response)).issues?.[0]?.path]).toEqual([400, ['last-event-id']])
  })

  test('a sequence reaches the handler as a number', async () => {
    await using service = await startTestApp()
    await service.call('GET', `${session}/events/stream`, { headers: { 'last-event-id': '12' } })
    expect({ ...service.requests[0]?.request.headerParams }).toEqual({ 'last-event-id': 12 })
  })
})

describe('path segments', () => {
  test.each([
    ['/v1/sessions/x', 'sessionId'],
    ['/v1/sessions/', 'sessionId'],
    ['/v1/sessions/%ZZ', 'sessionId'],
    ['/v1/sessions/%FF', 'sessionId'],
    ['/v1/sessions/%00', 'sessionId'],
    [`/v1/sessions/urn:uuid:${sessionId}`, 'sessionId'],
    [`/v1/sessions/%7B${sessionId}%7D`, 'sessionId'],
    [`/v1/sessions/${sessionId}%2Fturns`, 'sessionId'],
    [`/v1/sessions/${'a'.repeat(5000)}`, 'sessionId'],
    [`${session}/runs/x`, 'runId'],
    ['/v1/sessions/x/runs/y', 'sessionId'],
  ])('%.60s names %s', async (path, parameter) => {
    await using service = await startTestApp()
    const response = await service.call('GET', path)
    expect([response.status, await response.json()]).toEqual([400, { error: 'invalid_path_parameter', parameter }])
  })
})
