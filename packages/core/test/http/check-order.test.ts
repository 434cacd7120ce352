import { describe, expect, test } from 'vitest'
import { readRefusal, startTestApp } from '../../src/http/testing/test-app.ts'

describe('the order of checks', () => {
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
