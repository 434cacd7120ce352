import { describe, expect, test } from 'vitest'
import { installation, otherId, readRefusal, sessionId, startTestApp } from '../../src/http/testing/test-app.ts'

const everyFault = {
  path: `/v1/sessions/no-id/turns/${otherId}?limit=0`,
  method: 'PUT',
  headers: {
    authorization: 'Bearer narrow',
    'x-svc-organization': otherId,
    'content-type': 'text/plain',
  },
  body: `{"message": ${'1'.repeat(1_100_000)}`,
}

/** Each step repairs the fault of the previous refusal; the sequence of refusals is the order of the checks. */
const steps: readonly (readonly [refusal: string, mend: (request: typeof everyFault) => typeof everyFault])[] = [
  ['400 organization_header_not_allowed', request => request],
  ['400 invalid_path_parameter', request => ({ ...request, headers: without(request.headers, 'x-svc-organization') })],
  ['403 cloud_access_denied', request => ({ ...request, path: request.path.replace('no-id', sessionId) })],
  [
    '403 insufficient_scope',
    request => ({ ...request, headers: { ...request.headers, authorization: 'Bearer access' } }),
  ],
  [
    '415 unsupported_media_type',
    request => ({ ...request, headers: { ...request.headers, authorization: 'Bearer good' } }),
  ],
  [
    '413 request_entity_too_large',
    request => ({ ...request, headers: { ...request.headers, 'content-type': 'application/json' } }),
  ],
  ['400 malformed_request_body', request => ({ ...request, body: '{"message": ' })],
  ['400 invalid_request', request => ({ ...request, body: '{"message": 1}' })],
  ['204', request => ({ ...request, body: '{"message": "a"}', path: request.path.replace('?limit=0', '') })],
]

const without = (headers: typeof everyFault.headers, name: string): typeof everyFault.headers =>
  Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name)) as typeof everyFault.headers

describe('the order of checks', () => {
  test('a request with every fault is refused for each in turn', async () => {
    await using service = await startTestApp()
    service.authority.grant('narrow', { ...installation, capabilities: new Set(['svc.cloud.turns:submit']) })
    service.authority.grant('access', { ...installation, capabilities: new Set(['svc.cloud.access']) })
    let request = everyFault
    for (const [expected, mend] of steps) {
      request = mend(request)
      const response = await service.call(request.method, request.path, {
        headers: request.headers,
        body: request.body,
      })
      const { error } = response.status === 204 ? { error: undefined } : await readRefusal(response)
      expect([response.status, error].filter(Boolean).join(' ')).toBe(expected)
    }
  })

  test.each([
    ['no bearer', '/v1/nope', {}, 401, 'bearer_credential_required'],
    ['no credential of ours', '/v1/nope', { authorization: 'Bearer x' }, 401, 'invalid_or_expired_credential'],
    [
      'its address is limited',
      '/v1/nope',
      { authorization: 'Bearer address-limited' },
      429,
      'cloud_auth_rate_limit_exceeded',
    ],
    ['it is limited', '/v1/nope', { authorization: 'Bearer limited' }, 429, 'cloud_rate_limit_exceeded'],
    [
      'the limiter is down',
      '/v1/nope',
      { authorization: 'Bearer metering-fault' },
      503,
      'cloud_rate_limit_unavailable',
    ],
    ['the database is down', '/v1/nope', { authorization: 'Bearer database-down' }, 503, 'service_unavailable'],
    ['nothing else', '/v1/nope', { authorization: 'Bearer good' }, 404, 'unknown_endpoint'],
    ['the path is not of the API', '/nope', {}, 404, 'unknown_endpoint'],
  ])('on an unknown path: %s', async (_, path, headers, status, error) => {
    await using service = await startTestApp()
    const response = await fetch(service.origin + path, { headers: headers as Record<string, string> })
    expect([response.status, (await readRefusal(response)).error]).toEqual([status, error])
  })

  test.each(['limited', 'metering-fault'])('the organization header is checked before metering (%s)', async bearer => {
    await using service = await startTestApp()
    const headers = { authorization: `Bearer ${bearer}`, 'x-svc-organization': 'x' }
    const response = await service.call('GET', '/v1/sessions', { headers })
    expect([response.status, await response.json()]).toEqual([400, { error: 'invalid_organization' }])
  })

  test('the method is checked before the path segments', async () => {
    await using service = await startTestApp()
    const response = await service.call('POST', '/v1/sessions/no-id')
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe('GET, PUT, PATCH, DELETE')
    expect(await response.json()).toEqual({ error: 'method_not_allowed', allow: ['GET', 'PUT', 'PATCH', 'DELETE'] })
  })

  test.each(['POST', 'OPTIONS', 'DELETE'])(
    'the checks of the public endpoints begin with the method: %s',
    async method => {
      await using service = await startTestApp()
      const response = await fetch(`${service.origin}/v1/openapi.json`, { method })
      expect([response.status, await response.json()]).toEqual([405, { error: 'method_not_allowed', allow: ['GET'] }])
      expect(service.authority.calls).toEqual([])
    },
  )

  test.each(['/v1/sessions', '/v1/openapi.json', '/v1/docs'])('there is no HEAD of %s', async path => {
    await using service = await startTestApp()
    const response = await service.call('HEAD', path)
    expect([response.status, response.headers.get('allow')?.includes('GET')]).toEqual([405, true])
  })
})
