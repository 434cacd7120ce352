import { credentialDigest } from '@berth/platform/storage/master-key.ts'
import { personToken, signInPerson, startSigner } from '@berth/testing/accounts/signer.ts'
import { type Answer, Api } from '@berth/testing/api/api.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { describe, expect, it } from 'vitest'

const variables = { BERTH_ROLES: 'api' }
/** Three requests at once and one a minute, so the bucket stays empty for the length of a test. */
const authorityBucket = {
  variables: { ...variables, BERTH_RATE_PER_MINUTE: '1' },
  fixed: { callerBurstSeconds: 3 * 60 },
}
const edgeBucket = {
  variables: { ...variables, BERTH_AUTH_RATE_PER_MINUTE: '1' },
  fixed: { addressBurstSeconds: 3 * 60 },
}

const list = (api: Api) => api.get('/v1/sessions')
const bucket = ({ headers }: Answer) => [headers.get('ratelimit-policy'), headers.get('ratelimit')?.replace(/t=.*/, '')]

/** Advances every bucket by a minute. */
const passAMinute = (test: TestService) =>
  test.db.database.query("update rate_buckets set refilled_at = refilled_at - interval '1 minute'")

async function spend(api: Api, count: number): Promise<string[]> {
  const outcomes: string[] = []
  for (let n = 0; n < count; n += 1) outcomes.push(outcome(await list(api)))
  return outcomes
}

describe('the bucket of an installation', () => {
  it('is reported with every answer, and refuses while it is empty', async () => {
    await using test = await startTestService(authorityBucket)
    const policy = '"svc-cloud";q=1;w=60;svc-burst=3'
    for (const path of ['/v1/sessions', '/v1/sessions/x', '/v1/nope']) {
      expect((await test.api.get(path)).headers.get('ratelimit-policy')).toBe(policy)
    }
    const answer = await list(test.api)
    const retryAfterSeconds = Number(answer.headers.get('retry-after'))
    expect([answer.status, answer.body]).toEqual([429, { error: 'cloud_rate_limit_exceeded', retryAfterSeconds }])
    expect(retryAfterSeconds).toBeGreaterThan(0)
    expect(retryAfterSeconds).toBeLessThanOrEqual(60)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(bucket(answer)).toEqual([policy, '"svc-cloud";r=0;'])
    await passAMinute(test)
    expect(await spend(test.api, 2)).toEqual(['200', '429 cloud_rate_limit_exceeded'])
  })

  it('counts down', async () => {
    await using test = await startTestService(authorityBucket)
    const left: unknown[] = []
    for (let n = 0; n < 3; n += 1) left.push(bucket(await list(test.api))[1])
    expect(left).toEqual(['"svc-cloud";r=2;', '"svc-cloud";r=1;', '"svc-cloud";r=0;'])
  })

  it('is charged for requests that are refused later, after the organization header and before the path', async () => {
    await using test = await startTestService(authorityBucket)
    for (let n = 0; n < 3; n += 1) expect(outcome(await test.api.get('/v1/nope'))).toBe('404 unknown_endpoint')
    expect(outcome(await test.api.get('/v1/nope'))).toBe('429 cloud_rate_limit_exceeded')
    expect(outcome(await test.api.get('/v1/nope', { 'x-svc-organization': 'x' }))).toBe('400 invalid_organization')
  })

  it('belongs to the installation: its keys share it, and another installation has its own', async () => {
    await using test = await startTestService(authorityBucket)
    await spend(test.api, 3)
    const rotated = 'svc_cloud_live_rotated'
    await test.db.database.query('update api_keys set digest = $2 where installation_id = $1', [
      test.tenant.installationId,
      credentialDigest(rotated),
    ])
    expect(await spend(new Api(test.url, rotated), 1)).toEqual(['429 cloud_rate_limit_exceeded'])
    expect(await spend((await test.newTenant()).api, 1)).toEqual(['200'])
  })
})

describe('every answer to a valid credential', () => {
  it('reports the state of its bucket, whatever the status', async () => {
    await using test = await startTestService({ variables })
    const { id } = await test.api.createSession()
    const json = { 'content-type': 'application/json' }
    const organization = { 'x-svc-organization': test.tenant.organizationId }
    const requests: readonly [number, string, RequestInit][] = [
      [200, '/v1/sessions', {}],
      [200, `/v1/sessions/${id}/events/stream`, {}],
      [400, '/v1/sessions', { headers: organization }],
      [400, '/v1/sessions', { headers: { 'x-svc-organization': 'x' } }],
      [400, '/v1/sessions?limit=x', {}],
      [400, `/v1/sessions/${id}`, { method: 'PATCH', headers: json, body: '{' }],
      [401, '/v1/me', {}],
      [404, '/v1/nope', {}],
      [404, `/v1/sessions/${test.tenant.organizationId}`, {}],
      [405, '/v1/sessions', { method: 'POST' }],
      [415, `/v1/sessions/${id}`, { method: 'PATCH', headers: { 'content-type': 'text/plain' }, body: 'x' }],
    ]
    for (const [status, path, init] of requests) {
      const leaving = new AbortController()
      const headers = { authorization: `Bearer ${test.tenant.apiKey}`, ...Object(init.headers) }
      const answer = await fetch(test.url + path, { ...init, headers, signal: leaving.signal })
      expect([path, answer.status, answer.headers.get('ratelimit-policy')]).toEqual([
        ...[path, status],
        '"svc-cloud";q=600;w=60;svc-burst=100000',
      ])
      leaving.abort()
    }
  })

  it('reports it with the refusal of the organization header even while the bucket is empty', async () => {
    await using test = await startTestService(authorityBucket)
    await spend(test.api, 3)
    const answer = await test.api.get('/v1/sessions', { 'x-svc-organization': test.tenant.organizationId })
    expect([outcome(answer), bucket(answer)[1]]).toEqual(['400 organization_header_not_allowed', '"svc-cloud";r=0;'])
  })
})

describe("an organization's own rate", () => {
  it('replaces the deployment’s for its installations and its people, and for nobody else', async () => {
    await using test = await startTestService({ variables })
    const { tenant, api } = await test.newTenant()
    const signer = await startSigner(test.db.database, test.service.settings.urls.authUrl)
    const person = await signInPerson(test.db.database, tenant.organizationId)
    const asPerson = new Api(test.url, await personToken(signer.mint, person))
    const setRate = (burst: number | null, perMinute: number | null) =>
      test.db.database.query('update organizations set rate_burst = $2, rate_per_minute = $3 where id = $1', [
        tenant.organizationId,
        burst,
        perMinute,
      ])
    await setRate(2, 1)
    for (const caller of [api, asPerson]) {
      expect(bucket(await list(caller))).toEqual(['"svc-cloud";q=1;w=60;svc-burst=2', '"svc-cloud";r=1;'])
      expect(await spend(caller, 2)).toEqual(['200', '429 cloud_rate_limit_exceeded'])
      expect(bucket(await list(caller))[0]).toBe('"svc-cloud";q=1;w=60;svc-burst=2')
    }
    expect(bucket(await list(test.api))[0]).toBe('"svc-cloud";q=600;w=60;svc-burst=100000')
    await setRate(null, null)
    expect(bucket(await list(api))[0]).toBe('"svc-cloud";q=600;w=60;svc-burst=100000')
  })
})

describe('the bucket of an address', () => {
  it('is one for a whole /64 of IPv6, and one for an IPv4 address however it is written', async () => {
    const proxies = { BERTH_TRUSTED_PROXIES: '127.0.0.1' }
    await using test = await startTestService({ ...edgeBucket, variables: { ...edgeBucket.variables, ...proxies } })
    const from = async (address: string) => outcome(await test.api.get('/v1/sessions', { 'x-forwarded-for': address }))
    const spent = '429 cloud_auth_rate_limit_exceeded'
    for (const [one, same, other] of [
      ['2001:db8:0:1::1', '2001:0DB8:0:1:a:b:c:d', '2001:db8:0:2::1'],
      ['192.0.2.7', '::ffff:192.0.2.7', '192.0.2.8'],
    ] as const) {
      for (let n = 0; n < 3; n += 1) expect(await from(n === 1 ? same : one)).toBe('200')
      expect([await from(one), await from(same), await from(other)]).toEqual([spent, spent, '200'])
    }
  })

  it('is charged for invalid credentials and then refuses every credential', async () => {
    await using test = await startTestService(edgeBucket)
    const unknown = new Api(test.url, 'svc_cloud_live_unknown')
    expect(await spend(unknown, 4)).toEqual([
      ...Array.from({ length: 3 }, () => '401 invalid_or_expired_credential'),
      '429 cloud_auth_rate_limit_exceeded',
    ])
    const answer = await list(test.api)
    expect([answer.status, answer.text]).toEqual([429, '{"error":"cloud_auth_rate_limit_exceeded"}'])
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(bucket(answer)).toEqual(['"svc-cloud-auth";q=1;w=60;svc-burst=3', '"svc-cloud-auth";r=0;'])
    await passAMinute(test)
    expect(await spend(test.api, 1)).toEqual(['200'])
  })

  it('is not charged for the public endpoints and the probes', async () => {
    await using test = await startTestService(edgeBucket)
    for (const path of ['/v1/openapi.json', '/v1/docs', '/healthz', '/readyz', '/v1/openapi.json']) {
      const response = await fetch(test.url + path)
      await response.body?.cancel()
      expect([path, response.status, response.headers.get('ratelimit')]).toEqual([path, 200, null])
    }
    expect(await spend(test.api, 1)).toEqual(['200'])
  })
})
