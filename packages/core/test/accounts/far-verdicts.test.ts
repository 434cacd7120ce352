import { randomUUID } from 'node:crypto'
import { type FarDeployments, startFar } from '@berth/testing/accounts/far.ts'
import { personToken, signInPerson } from '@berth/testing/accounts/signer.ts'
import { type Answer, Api } from '@berth/testing/api/api.ts'
import { createTenant, type Tenant } from '@berth/testing/api/tenant.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { createAiKey } from '@berth/testing/services/gateway-service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let far: FarDeployments
let tenant: Tenant
beforeAll(async () => {
  far = await startFar()
  tenant = await createTenant(far.account.db.database)
})
afterAll(() => far[Symbol.asyncDispose]())

const accountDb = () => far.account.db.database
const near = (bearer: string) => new Api(far.account.process.url, bearer)
const there = (bearer: string) => new Api(far.api.process.url, bearer)
const headersOf = ({ headers }: Answer) => [
  headers.get('ratelimit-policy'),
  headers.get('www-authenticate'),
  headers.get('retry-after'),
]

const mint = () => far.signer.mint

/** Credentials of every kind, whole and spoilt, each made anew. */
const credentials: Readonly<Record<string, (tenant: Tenant) => Promise<string> | string>> = {
  'a key': ({ apiKey }) => apiKey,
  'an installation token': ({ installationId }) => mint().installationToken(installationId, 'svc-cloud', null),
  'an installation token for the gateway': ({ installationId }) =>
    mint().installationToken(installationId, 'svc-ai', null),
  'an installation token of a consent that is not there': ({ installationId }) =>
    mint().installationToken(installationId, 'svc-cloud', randomUUID()),
  'an installation token of nobody': () => mint().installationToken(randomUUID(), 'svc-cloud', null),
  'the token of an end user': ({ installationId }) => mint().endUserToken(installationId, 'zoë 7'),
  'the token of a member': async ({ organizationId }) =>
    personToken(mint(), await signInPerson(accountDb(), organizationId)),
  'the token of an administrator': async ({ organizationId }) =>
    personToken(mint(), await signInPerson(accountDb(), organizationId, { role: 'admin' })),
  'the token of a member with a permission': async ({ organizationId }) =>
    personToken(
      mint(),
      await signInPerson(accountDb(), organizationId, { permissions: ['organization.applications.manage'] }),
    ),
  'a token whose signature is another': async ({ organizationId }) => {
    const token = await personToken(mint(), await signInPerson(accountDb(), organizationId))
    return `${token.slice(0, -8)}AAAAAAAA`
  },
  'a key of the gateway': async tenant => (await createAiKey(accountDb(), tenant)).aiKey,
  'a narrow key of the gateway': async tenant => (await createAiKey(accountDb(), tenant, ['svc.cloud.access'])).aiKey,
  'a key that nobody has': () => 'svc_cloud_live_nobody',
  'a gateway key that nobody has': () => 'svc_ai_live_nobody',
  'a credential of a Run that never was': () => 'svc_run_nobody',
  'no token at all': () => 'nonsense',
}

const paths = ['/v1/me', '/v1/sessions', '/v1/repositories', '/v1/models', '/v1/nope', `/v1/sessions/${randomUUID()}`]

describe('a credential', () => {
  it.each(Object.keys(credentials))('is judged far away as it is nearby: %s', async name => {
    const bearer = (await credentials[name]?.(tenant)) ?? ''
    for (const path of paths) {
      const [local, away] = [await near(bearer).get(path), await there(bearer).get(path)]
      expect([path, away.status, away.body, headersOf(away)]).toEqual([
        path,
        local.status,
        local.body,
        headersOf(local),
      ])
    }
  })

  it.each([
    ['a suspended organization', 'update organizations set suspended_at = now() where id = $1'],
    ['an organization without product access', 'update organizations set cloud_access = false where id = $1'],
    [
      'an organization with a rate of its own',
      'update organizations set rate_burst = 7, rate_per_minute = 3 where id = $1',
    ],
    ['a revoked installation', 'update installations set revoked_at = now() where organization_id = $1'],
    ['a narrow grant', "update installations set capabilities = '{svc.cloud.access}' where organization_id = $1"],
    [
      'an expired key',
      'update api_keys k set expires_at = now() from installations i where i.id = k.installation_id and i.organization_id = $1',
    ],
  ])('is judged far away as it is nearby for %s, on the next request', async (_, statement) => {
    const other = await createTenant(accountDb())
    const member = await personToken(mint(), await signInPerson(accountDb(), other.organizationId))
    for (const bearer of [other.apiKey, member]) expect((await there(bearer).get('/v1/sessions')).status).toBe(200)
    await accountDb().query(statement, [other.organizationId])
    for (const bearer of [other.apiKey, member]) {
      for (const path of ['/v1/me', '/v1/sessions', '/v1/capabilities']) {
        const [away, local] = [await there(bearer).get(path), await near(bearer).get(path)]
        expect([path, outcome(away), headersOf(away)]).toEqual([path, outcome(local), headersOf(local)])
      }
    }
  })

  it('takes from one bucket, wherever it is presented', async () => {
    const { apiKey, organizationId } = await createTenant(accountDb())
    await accountDb().query('update organizations set rate_burst = 3, rate_per_minute = 1 where id = $1', [
      organizationId,
    ])
    const left = (answer: Answer) => answer.headers.get('ratelimit')?.replace(/t=.*/, '')
    const answers = [await there(apiKey).get('/v1/sessions'), await near(apiKey).get('/v1/sessions')]
    expect(answers.map(left)).toEqual(['"svc-cloud";r=2;', '"svc-cloud";r=1;'])
    await there(apiKey).get('/v1/sessions')
    const answer = await there(apiKey).get('/v1/sessions')
    expect([outcome(answer), left(answer)]).toEqual(['429 cloud_rate_limit_exceeded', '"svc-cloud";r=0;'])
  })

  it('makes Sessions whose owner and organization are those of the account service', async () => {
    const member = await signInPerson(accountDb(), tenant.organizationId)
    const session = await there(tenant.apiKey).createSession({}, 'hello')
    expect(session).toMatchObject({
      organizationId: tenant.organizationId,
      createdBy: { kind: 'app_installation', id: tenant.installationId },
    })
    const own = await there(await personToken(mint(), member)).createSession()
    expect(own.createdBy).toEqual({ kind: 'person', id: member.personId })
    const another = await createTenant(accountDb())
    expect(outcome(await there(another.apiKey).get(`/v1/sessions/${session.id}`))).toBe('404 cloud_session_not_found')
  })

  it('is sent once, over a connection that is kept, and never written to the database of the API', async () => {
    const { apiKey } = await createTenant(accountDb())
    await there(apiKey).get('/v1/sessions')
    const [answers, connections] = [far.between.requests.length, far.between.connections]
    for (let n = 0; n < 20; n += 1) expect((await there(apiKey).get('/v1/sessions')).status).toBe(200)
    const judged = far.between.requests.slice(answers).filter(({ path }) => path === '/internal/judge')
    expect(judged.map(({ body }) => JSON.parse(body))).toEqual(
      Array(20).fill({ bearer: apiKey, address: '127.0.0.1', metered: true }),
    )
    expect(far.between.connections - connections).toBeLessThan(3)
    const { rows } = await far.api.db.database.query<{ digests: number[] }>(
      'select array_agg(distinct length(digest)) as digests from api_keys',
    )
    expect(rows[0]?.digests ?? []).not.toContain(32)
  })

  it('has its last use noted over there', async () => {
    const { apiKey, installationId } = await createTenant(accountDb())
    await there(apiKey).get('/v1/sessions')
    await until('a note', async () => {
      const text = 'select 1 from api_keys where installation_id = $1 and last_used_at is not null'
      return (await accountDb().query(text, [installationId])).rows.length === 1
    })
  })
})
