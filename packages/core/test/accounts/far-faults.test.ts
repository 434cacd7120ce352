import type { Fixed } from '@berth/platform/settings/fixed.ts'
import { type FarDeployments, type Passing, secret, startFar } from '@berth/testing/accounts/far.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createTenant, type Tenant } from '@berth/testing/api/tenant.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { createAiKey } from '@berth/testing/services/gateway-service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const unavailable = '503 identity_service_unavailable'

let far: FarDeployments
let tenant: Tenant
let aiKey: string
beforeAll(async () => {
  // bound: a pause between two looks at what a stream may show
  far = await startFar({ apiFixed: { streamAuthorityMs: 1000 } })
  tenant = await createTenant(far.account.db.database)
  aiKey = (await createAiKey(far.account.db.database, tenant)).aiKey
})
afterAll(() => far[Symbol.asyncDispose]())
beforeEach(() => {
  far.between.passing = 'through'
})

const api = (bearer = tenant.apiKey) => new Api(far.api.process.url, bearer)

describe('while the account service cannot answer', () => {
  it('killed in the middle, every credential is refused with 503, and nothing is let through unjudged', async () => {
    expect((await api().get('/v1/sessions')).status).toBe(200)
    await far.account.kill()
    for (const bearer of [tenant.apiKey, 'svc_cloud_live_nobody']) {
      const answer = await api(bearer).get('/v1/sessions')
      expect([outcome(answer), answer.headers.get('retry-after')]).toEqual([unavailable, '2'])
    }
    const model = await api(aiKey).get('/v1/models')
    expect([model.status, model.headers.get('retry-after')]).toEqual([503, '2'])
    expect(model.body).toMatchObject({ error: { code: 'identity_service_unavailable' } })
    await far.restartAccount()
    await until('an answer', async () => (await api().get('/v1/sessions')).status === 200)
    expect(outcome(await api('svc_cloud_live_nobody').get('/v1/sessions'))).toBe('401 invalid_or_expired_credential')
  })

  it.each<Passing>(['broken', 'nonsense', 'another-shape'])('%s answers let nobody in', async passing => {
    far.between.passing = passing
    expect(outcome(await api().get('/v1/sessions'))).toBe(unavailable)
    expect((await api(aiKey).get('/v1/models')).status).toBe(503)
    far.between.passing = 'through'
    expect((await api().get('/v1/sessions')).status).toBe(200)
  })

  it('an open stream stays, since nobody has said that its credential has ended', async () => {
    const { apiKey, installationId } = await createTenant(far.account.db.database)
    const there = api(apiKey)
    const { id } = await there.createSession()
    const leaving = new AbortController()
    const stream = await fetch(`${there.url}/v1/sessions/${id}/events/stream`, {
      headers: { authorization: `Bearer ${apiKey}` },
      signal: leaving.signal,
    })
    let ended = false
    const read = (async () => {
      for await (const _ of stream.body ?? []);
      ended = true
    })().catch(() => undefined)
    far.between.passing = 'broken'
    const judged = () => far.between.requests.filter(({ path }) => path === '/internal/judge').length
    const before = judged()
    await until('three looks at its credential', () => judged() >= before + 3)
    expect(ended).toBe(false)
    far.between.passing = 'through'
    await far.account.db.database.query('update api_keys set revoked_at = now() where installation_id = $1', [
      installationId,
    ])
    await until('the end of the stream', () => ended)
    leaving.abort()
    await read
  })
})

describe('the secret between the two', () => {
  const url = () => far.account.process.url
  const judge = (authorization: string | null, body: string, headers: Record<string, string> = {}) =>
    fetch(`${url()}/internal/judge`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(authorization !== null && { authorization }),
        ...headers,
      },
      body,
    })
  const judgement = () => JSON.stringify({ bearer: tenant.apiKey, address: '127.0.0.1', metered: true })

  it('opens the verdict on a credential', async () => {
    const answer = await judge(`Bearer ${secret}`, judgement())
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      { kind: 'granted', principal: { kind: 'app_installation', id: tenant.installationId } },
    ])
  })

  it.each([
    ['none', null],
    ['another', `Bearer ${secret.slice(0, -1)}x`],
    ['a longer one', `Bearer ${secret}x`],
    ['another scheme', `Basic ${secret}`],
    ['a key of the API', 'key'],
  ])('is needed (%s), and without it the path is one that nobody knows', async (_, authorization) => {
    const sent = authorization === 'key' ? `Bearer ${tenant.apiKey}` : authorization
    const unknown = await fetch(`${url()}/internal/nothing`, { method: 'POST' })
    const expected = [404, await unknown.text()]
    for (const body of [judgement(), '{', 'x'.repeat(100_000)]) {
      const answer = await judge(sent, body)
      expect([answer.status, await answer.text()]).toEqual(expected)
    }
    const changes = await fetch(`${url()}/internal/revocations`, {
      headers: sent === null ? {} : { authorization: sent },
    })
    expect([changes.status, await changes.text()]).toEqual(expected)
  })

  it.each([
    ['no JSON', '{', 400],
    ['a property more', JSON.stringify({ bearer: 'a', address: '::1', metered: true, organization: 'x' }), 400],
    ['a property less', JSON.stringify({ bearer: 'a', metered: true }), 400],
    ['metering by another type', JSON.stringify({ bearer: 'a', address: '::1', metered: 'no' }), 400],
    [
      'a bearer that no header can carry',
      JSON.stringify({ bearer: 'a'.repeat(70_000), address: '::1', metered: true }),
      413,
    ],
  ])('comes with a request that is read strictly: %s', async (_, body, status) => {
    expect((await judge(`Bearer ${secret}`, body)).status).toBe(status)
  })

  it.each(['x', '1', '1.2', '-1.00000000-0000-0000-0000-000000000000', "0.' or true"])(
    'comes with a cursor that is read strictly: %s',
    async after => {
      const answer = await fetch(`${url()}/internal/revocations?after=${encodeURIComponent(after)}`, {
        headers: { authorization: `Bearer ${secret}` },
      })
      expect(answer.status).toBe(400)
    },
  )

  it('opens nothing at a process that is no account service, and is in no document', async () => {
    const answer = await fetch(`${far.api.process.url}/internal/judge`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: judgement(),
    })
    expect(answer.status).toBe(404)
    const document = await (await fetch(`${url()}/v1/openapi.json`)).text()
    expect(document).not.toContain('/internal')
  })
})

describe('an API that is set otherwise', () => {
  const restart = async (more: Readonly<Record<string, string>>, fixed: Partial<Fixed> = {}) => {
    await far.api.kill()
    await far.api.start(more, fixed)
  }

  it('asks a slow account service once, and refuses after its time', async () => {
    await restart({}, { identityMs: 2000 })
    far.between.passing = 'stalled'
    const judged = () => far.between.requests.filter(({ path }) => path.startsWith('/internal/judge')).length
    const before = judged()
    // The answer may be read here before the question that came to the proxy earlier.
    const judgement = (times: number) => until('the question', () => judged() >= before + times)
    expect(outcome(await api('svc_cloud_live_any').get('/v1/sessions'))).toBe(unavailable)
    await judgement(1)
    expect((await api('svc_ai_live_any').get('/v1/models')).status).toBe(503)
    await judgement(2)
    expect(judged()).toBe(before + 2)
  })

  it('says in its log that its secret is another', async () => {
    await restart({ BERTH_IDENTITY_SECRET: 'x'.repeat(32) })
    expect(outcome(await api().get('/v1/sessions'))).toBe(unavailable)
    await until('a line in the log', () =>
      far.api.process.lines.some(line => line.includes('BERTH_IDENTITY_SECRET must be the same on both sides')),
    )
    expect(far.api.process.lines.join()).not.toContain('x'.repeat(32))
  })
})
