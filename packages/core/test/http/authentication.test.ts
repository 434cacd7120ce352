import { describe, expect, test } from 'vitest'
import { rawRequest, readRaw, sendRaw } from '../../src/http/testing/raw-http.ts'
import { installation, sessionId, startTestApp } from '../../src/http/testing/test-app.ts'

describe('the bearer', () => {
  test.each([
    ['another scheme', ['Authorization: Basic abc'], 'bearer_credential_required'],
    ['a cookie', ['Cookie: session=abc'], 'bearer_credential_required'],
    ['no credential', ['Authorization: Bearer'], 'invalid_or_expired_credential'],
    ['two credentials', ['Authorization: Bearer good good'], 'invalid_or_expired_credential'],
    ['characters no token has', ['Authorization: Bearer go"od'], 'invalid_or_expired_credential'],
    ['two headers', ['Authorization: Bearer good', 'authorization: Bearer good'], 'invalid_or_expired_credential'],
  ])('%s is refused', async (_, headers, error) => {
    await using service = await startTestApp()
    const response = await sendRaw(service.port, rawRequest('GET', '/v1/sessions', headers))
    expect(readRaw(response)).toEqual({ status: 401, body: { error } })
    expect(response).toMatch(/www-authenticate: Bearer/)
    expect(service.authority.calls).toEqual([])
  })

  test.each(['bearer good', 'BEARER   good'])('the scheme may be in any case: %s', async authorization => {
    await using service = await startTestApp()
    expect((await service.call('GET', '/v1/sessions', { headers: { authorization } })).status).toBe(204)
    expect(service.authority.calls).toEqual([{ bearer: 'good', clientAddress: '127.0.0.1' }])
  })

  test.each([
    ['none', [], '127.0.0.1'],
    ['the nearest', ['127.0.0.1'], '203.0.113.9'],
    ['two', ['127.0.0.0/8', '203.0.113.0/24'], '198.51.100.7'],
    ['one that is not here', ['203.0.113.9'], '127.0.0.1'],
  ])(
    "the client's address comes from trusted proxies and not from the client: %s",
    async (_, trustedProxies, clientAddress) => {
      await using service = await startTestApp({ trustedProxies })
      const headers = { 'x-forwarded-for': '192.0.2.1, 198.51.100.7, 203.0.113.9' }
      await service.call('GET', '/v1/sessions', { headers })
      expect(service.authority.calls).toEqual([{ bearer: 'good', clientAddress }])
    },
  )

  test('it is never logged', async () => {
    await using service = await startTestApp()
    service.answer('getSession', () => Promise.reject(new Error('boom')))
    await service.call('GET', `/v1/sessions/${sessionId}`, { headers: { authorization: 'Bearer good' } })
    await service.call('GET', '/v1/sessions?cursor=secret', { headers: { authorization: 'Bearer topsecret' } })
    expect(service.log.join('')).not.toMatch(/good|secret|uthorization/)
  })
})

describe('the organization header', () => {
  test.each([
    [['X-Svc-Organization: nonsense'], 'invalid_organization'],
    [[`X-Svc-Organization: ${sessionId}`, `X-Svc-Organization: ${sessionId}`], 'invalid_organization'],
    [[`X-Svc-Organization: ${sessionId}`], 'organization_header_not_allowed'],
  ])('%s', async (headers, error) => {
    await using service = await startTestApp()
    const request = rawRequest('GET', '/v1/sessions', ['Authorization: Bearer good', ...headers])
    expect(readRaw(await sendRaw(service.port, request))).toEqual({ status: 400, body: { error } })
  })
})

describe('metering', () => {
  test('every authenticated answer reports the state of the bucket', async () => {
    await using service = await startTestApp()
    for (const path of ['/v1/sessions', '/v1/sessions/no-id', '/v1/nope']) {
      const { headers } = await service.call('GET', path)
      expect(headers.get('ratelimit-policy')).toBe('"svc-cloud";q=600;w=60;svc-burst=120')
      expect(headers.get('ratelimit')).toBe('"svc-cloud";r=119;t=1')
    }
  })

  test.each([
    ['limited', { error: 'cloud_rate_limit_exceeded', retryAfterSeconds: 1 }, '1', '"svc-cloud";r=0;t=1'],
    ['address-limited', { error: 'cloud_auth_rate_limit_exceeded' }, '3', '"svc-cloud-auth";r=0;t=1'],
  ])('an empty bucket (%s)', async (bearer, body, retryAfter, rateLimit) => {
    await using service = await startTestApp()
    const response = await service.call('GET', '/v1/sessions', { headers: { authorization: `Bearer ${bearer}` } })
    expect([response.status, await response.json()]).toEqual([429, body])
    expect(response.headers.get('retry-after')).toBe(retryAfter)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('ratelimit')).toBe(rateLimit)
  })

  test('a limiter that fails closes the API', async () => {
    await using service = await startTestApp()
    const response = await service.call('GET', '/v1/sessions', { headers: { authorization: 'Bearer metering-fault' } })
    expect([response.status, await response.json()]).toEqual([503, { error: 'cloud_rate_limit_unavailable' }])
    expect(response.headers.get('retry-after')).toBe('1')
  })
})

describe('capabilities', () => {
  test('a missing one is named', async () => {
    await using service = await startTestApp()
    service.authority.grant('reader', {
      ...installation,
      capabilities: new Set(['svc.cloud.access', 'svc.cloud.sessions:read']),
    })
    const headers = { authorization: 'Bearer reader' }
    const response = await service.call('GET', '/v1/capabilities', { headers })
    expect([response.status, await response.json()]).toEqual([
      403,
      { error: 'insufficient_scope', requiredScope: 'svc.cloud.sessions:create' },
    ])
    expect((await service.call('GET', '/v1/sessions', { headers })).status).toBe(204)
  })

  test('a handler can check the credential again without taking a token', async () => {
    await using service = await startTestApp()
    const answers: unknown[] = []
    service.answer('getSession', async request => {
      answers.push(await request.stillAuthorized())
      service.authority.grant('good', { ...installation, capabilities: new Set(['svc.cloud.access']) })
      answers.push(await request.stillAuthorized())
      service.authority.verdicts.delete('good')
      answers.push(await request.stillAuthorized())
      service.authority.verdicts.set('good', new Error('database away'))
      answers.push(await request.stillAuthorized().catch(String))
      return { status: 204 }
    })
    await service.call('GET', `/v1/sessions/${sessionId}`)
    expect(answers).toEqual([true, false, false, 'Error: database away'])
    expect(service.authority.calls.map(call => call.metered)).toEqual([undefined, false, false, false, false])
  })
})
