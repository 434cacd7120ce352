import type { GuardedOperationId } from '@berth/contract'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { BlobsUnavailable, StorageFull } from '@berth/platform/storage/blobs/blobs.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { describe, expect, test } from 'vitest'
import { sessionId, startTestApp } from '../../src/http/testing/test-app.ts'

const path = `/v1/sessions/${sessionId}`

const session = {
  id: sessionId,
  sessionUrl: 'http://127.0.0.1/sessions/1',
  organizationId: sessionId,
  title: 'A "title" \u2028 😀',
  workspace: { state: 'unavailable', expiresAt: null, later: 1 },
  continuation: {
    canContinue: true,
    state: 'fresh',
    conversation: { fidelity: 'none' },
    workspace: { fidelity: 'none' },
    reason: 'no_prior_work',
  },
  phase: 'idle',
  status: 'done',
  lastRun: null,
  createdBy: { kind: 'app_installation', id: sessionId },
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
  lastEventSequence: 0,
  environment: { id: sessionId, name: 'e', revision: null },
  budget: null,
  changes: null,
  plan: null,
  background: [],
  parent: null,
  effort: null,
  later: { nested: [1, 'two', null] },
}

describe('successes', () => {
  test('a value is serialised whole, including members that the contract does not name', async () => {
    await using service = await startTestApp()
    service.answer('createSession', async () => ({ status: 201, body: { session }, headers: { location: path } }))
    const response = await service.call('PUT', path, { body: '{}', headers: { 'content-type': 'application/json' } })
    expect([response.status, response.headers.get('location')]).toEqual([201, path])
    expect(await response.json()).toEqual({ session })
  })

  test('a page keeps its null and false members', async () => {
    await using service = await startTestApp()
    const page = { sessions: [session], nextCursor: null, hasMore: false }
    service.answer('listSessions', async () => ({ status: 200, body: page }))
    expect(await (await service.call('GET', '/v1/sessions')).json()).toEqual(page)
  })

  test('JSON text goes out byte for byte', async () => {
    await using service = await startTestApp()
    const text = '{ "events":[{"b":1.0,"a":"\\u00e9"}],"lastSequence":0}'
    service.answer('listEvents', async () => ({ status: 200, json: text }))
    const response = await service.call('GET', `${path}/events`)
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    expect(await response.text()).toBe(text)
  })

  test('every answer has its own id and forbids storing and sniffing', async () => {
    await using service = await startTestApp()
    const { headers } = await service.call('GET', path)
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })

  test('a client that leaves aborts the signal', async () => {
    await using service = await startTestApp()
    const left = Promise.withResolvers<void>()
    service.answer('getSession', request => {
      request.signal.addEventListener('abort', () => left.resolve())
      return new Promise(() => {})
    })
    const client = new AbortController()
    const response = service.call('GET', path, { signal: client.signal }).catch(() => null)
    await expect.poll(() => service.requests.length).toBe(1)
    client.abort()
    await left.promise
    await response
  })
})

describe('refusals', () => {
  const fail = async (error: unknown, id: GuardedOperationId = 'getSession') => {
    const service = await startTestApp()
    service.answer(id, () => Promise.reject(error))
    const response = await service.call('GET', path)
    const body = await response.text()
    await service.app.close()
    return { response, body, log: service.log }
  }

  test('a named one carries its fields and headers', async () => {
    const error = new ApiError(409, 'cloud_interaction_conflict', {
      fields: { outcome: { choice: 'deny' } },
      headers: { 'x-extra': '1' },
    })
    const { response, body } = await fail(error)
    expect([response.status, body]).toEqual([409, '{"error":"cloud_interaction_conflict","outcome":{"choice":"deny"}}'])
    expect(response.headers.get('x-extra')).toBe('1')
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  })

  test.each([
    ['cloud_run_in_progress', '2'],
    ['service_unavailable', '2'],
    ['event_stream_unavailable', '2'],
    ['cloud_rate_limit_unavailable', '1'],
  ] as const)('%s says when to come back', async (code, delay) => {
    const { response, body } = await fail(new ApiError(refusal(code).status, code))
    expect([response.headers.get('retry-after'), body]).toEqual([delay, JSON.stringify({ error: code })])
  })

  test.each([
    ['the database', new DatabaseUnavailable(new Error('refused'))],
    ['room for blobs', new StorageFull(new Error('ENOSPC'))],
    ['the store of blobs', new BlobsUnavailable(new Error('SlowDown'))],
  ])(
    'a fault of the service that passes, %s, says when to come back and is logged with its cause',
    async (_, error) => {
      const { response, body, log } = await fail(error)
      expect([response.status, body]).toEqual([503, '{"error":"service_unavailable"}'])
      expect(response.headers.get('retry-after')).toBe('2')
      expect(log.join('')).toContain(error.message)
    },
  )

  test('an unknown error is not revealed, but logged with its cause and the id of the request', async () => {
    const { response, body, log } = await fail(new Error('outer', { cause: new Error('disk on fire') }))
    expect([response.status, body]).toEqual([500, '{"error":"internal_error"}'])
    const line = log.map(text => JSON.parse(text)).find(entry => entry.level === 50)
    expect(line.requestId).toBe(response.headers.get('x-request-id'))
    expect(JSON.stringify(line)).toContain('disk on fire')
  })

  test('a foreign error cannot choose its status', async () => {
    const { response, body } = await fail(Object.assign(new Error('x'), { statusCode: 404, code: 'ENOENT' }))
    expect([response.status, body]).toEqual([500, '{"error":"internal_error"}'])
  })
})
