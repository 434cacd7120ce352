import { randomUUID } from 'node:crypto'
import { webhookLimits } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Answer, Api } from '@berth/testing/api/api.ts'
import { createInstallation } from '@berth/testing/api/tenant.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { forbiddenUrls } from '@berth/testing/webhooks/forbidden-urls.ts'
import { ScriptedNetwork } from '@berth/testing/webhooks/scripted-network.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const network = new ScriptedNetwork()
let accounts: Accounts
let publisher: Api
let path: string
beforeAll(async () => {
  accounts = await startAccounts({
    network,
    variables: { BERTH_WEBHOOK_PORTS: '8444, 9443' },
    config: { webhooks: { allow: ['http://127.0.0.1:9000'] }, egress: { refuse: ['93.184.217.0/24'] } },
  })
  publisher = (await accounts.person({ permissions: ['organization.applications.manage'] })).api
})
afterAll(() => accounts[Symbol.asyncDispose]())
beforeEach(async () => {
  network.names.clear()
  network.names.set('hooks.example.com', ['93.184.216.34', '2606:4700::1'])
  path = await installation()
})

/** Makes an installation of the tenant's app in another organization, and returns the path of its endpoints. */
async function installation(): Promise<string> {
  const { tenant: customer } = await accounts.test.newTenant()
  const { appSlug } = accounts.test.tenant
  const made = await createInstallation(accounts.test.db.database, customer.organizationId, appSlug)
  return pathOf(appSlug, made.installationId)
}

const pathOf = (slug: string, installationId: string) => `/api/apps/${slug}/installations/${installationId}/webhooks`

const register = (body: object = {}, at = path, api = publisher) =>
  api.call('POST', at, { url: 'https://hooks.example.com/berth', families: ['run'], ...body })

const endpointOf = ({ body }: Answer) => body['endpoint'] as { readonly id: string }

function tally(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const answer of answers) counts[outcome(answer)] = (counts[outcome(answer)] ?? 0) + 1
  return counts
}

describe('an endpoint', () => {
  it('is registered with a secret that is told once and kept sealed', async () => {
    const answer = await register({ families: ['run', 'interaction', 'artifact', 'publication', 'revision'] })
    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({
      success: true,
      endpoint: {
        id: expect.any(String),
        url: 'https://hooks.example.com/berth',
        families: ['run', 'interaction', 'artifact', 'publication', 'revision'],
        createdAt: expect.any(String),
      },
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9_-]{43}$/),
    })
    const listed = await publisher.get(path)
    expect(listed.body).toEqual({ success: true, endpoints: [answer.body['endpoint']] })
    const { rows } = await accounts.test.db.database.query<{ row: string; sealed: Buffer }>(
      'select e::text as row, sealed_secret as sealed from webhook_endpoints e where id = $1',
      [endpointOf(answer).id],
    )
    const secret = String(answer.body['secret'])
    expect(rows[0]?.row).not.toContain(secret.slice(6, 30))
    expect(rows[0]?.row).not.toContain(Buffer.from(secret).toString('hex'))
    expect(rows[0]?.sealed.includes(Buffer.from(secret.slice(6), 'base64url'))).toBe(false)
  })

  it('of the same URL may be registered again, with another secret', async () => {
    const [first, second] = [await register(), await register()]
    expect(first.body['secret']).not.toBe(second.body['secret'])
    expect((await publisher.get<{ endpoints: unknown[] }>(path)).body.endpoints).toHaveLength(2)
  })

  it('is deleted once, and deleting it again changes nothing', async () => {
    const { id } = endpointOf(await register())
    const remove = () => publisher.call('DELETE', `${path}/${id}`)
    expect([(await remove()).status, (await remove()).status]).toEqual([204, 204])
    expect((await publisher.get(path)).body).toEqual({ success: true, endpoints: [] })
    const { rows } = await accounts.test.db.database.query<{ action: string; details: object }>(
      "select action, details from audit_log where target = 'webhook endpoint ' || $1::text order by at",
      [id],
    )
    expect(rows.map(({ action }) => action)).toEqual(['webhook.registered', 'webhook.deleted'])
    expect(JSON.stringify(rows)).not.toContain('whsec')
  })

  it('is one of five, also if ten are registered at once', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => register()))
    const { endpointsPerInstallation: five } = webhookLimits
    expect(tally(answers)).toEqual({ '201': five, '409 endpoint_limit_reached': 5 })
    expect(outcome(await register({}, await installation()))).toBe('201')
    const [made] = answers.filter(({ status }) => status === 201)
    if (made === undefined) throw new Error('none was registered')
    await publisher.call('DELETE', `${path}/${endpointOf(made).id}`)
    expect(outcome(await register())).toBe('201')
  })
})

describe('the URL of an endpoint', () => {
  it.each([
    'https://hooks.example.com',
    'https://hooks.example.com:443/a?b=c%20d',
    'https://hooks.example.com:8444/',
    'https://hooks.example.com:9443/',
    'https://HOOKS.example.com/',
    'https://hooks.example.com./',
    'https://93.184.216.34/',
    'https://[2606:4700::1]/',
    `https://hooks.example.com/${'a'.repeat(2048 - 'https://hooks.example.com/'.length)}`,
  ])('may be %s', async url => {
    const answer = await register({ url })
    expect(outcome(answer)).toBe('201')
    expect(endpointOf(answer)).toMatchObject({ url })
  })

  it('may be an origin that the configuration lets through, and no other of its host', async () => {
    expect(outcome(await register({ url: 'http://127.0.0.1:9000/hook' }))).toBe('201')
    for (const url of ['http://127.0.0.1:9001/', 'https://127.0.0.1:9000/', 'http://localhost:9000/']) {
      expect(outcome(await register({ url }))).toBe('400 invalid_url')
    }
  })

  it('is refused in every spelling of a host that is not public, without asking anybody', async () => {
    network.lookups.length = 0
    const let_through: string[] = []
    for (const url of forbiddenUrls) {
      if (outcome(await register({ url })) !== '400 invalid_url') let_through.push(url)
    }
    expect(let_through).toEqual([])
    expect([network.lookups, network.dialled]).toEqual([[], []])
  })

  it.each([
    ['has no address', []],
    ['is loopback', ['127.0.0.1']],
    ['is public and private', ['93.184.216.34', '10.0.0.1']],
    ['is public by IPv4 and mapped by IPv6', ['93.184.216.34', '::ffff:127.0.0.1']],
    ['is metadata', ['169.254.169.254']],
    ['lies in a range that the operator refuses', ['93.184.217.1']],
  ])('is refused if its name %s', async (_, addresses) => {
    network.names.set('hooks.example.com', addresses)
    expect(outcome(await register())).toBe('400 invalid_url')
  })

  it('is refused if DNS does not know its name', async () => {
    expect(outcome(await register({ url: 'https://unknown.example.com/' }))).toBe('400 invalid_url')
  })
})

describe('a faulty registration', () => {
  it('is refused for each fault in turn', async () => {
    const unknown = pathOf(accounts.test.tenant.appSlug, randomUUID())
    const everything = { url: 'https://127.0.0.1/', families: [], more: 1 }
    const good = { url: 'https://hooks.example.com/', families: ['run'] }
    const steps: readonly (readonly [string, string, object])[] = [
      ['400 invalid_request', unknown, everything],
      ['400 invalid_request', unknown, { url: 1, families: [] }],
      ['400 invalid_url', unknown, { ...good, url: everything.url, families: [] }],
      ['400 invalid_event_families', unknown, { ...good, families: [] }],
      ['400 invalid_event_families', unknown, { ...good, families: ['run', 'run'] }],
      ['400 invalid_event_families', unknown, { ...good, families: ['run', 'message'] }],
      ['404 installation_not_found', unknown, good],
      ['201', path, good],
    ]
    for (const [expected, at, body] of steps) expect(outcome(await publisher.call('POST', at, body))).toBe(expected)
  })

  it('finds only live installations of an app of the own organization', async () => {
    const { database } = accounts.test.db
    const { tenant: other } = await accounts.test.newTenant()
    const foreign = await createInstallation(database, accounts.test.tenant.organizationId, other.appSlug)
    const reserved = await createInstallation(database, accounts.test.tenant.organizationId, 'svc-cloud')
    const revoked = await createInstallation(database, other.organizationId, accounts.test.tenant.appSlug)
    await database.query('update installations set revoked_at = now() where id = $1', [revoked.installationId])
    const slug = accounts.test.tenant.appSlug
    const paths = [
      pathOf('unknown-app', path.split('/')[5] ?? ''),
      pathOf(other.appSlug, foreign.installationId),
      pathOf('svc-cloud', reserved.installationId),
      pathOf(slug, foreign.installationId),
      pathOf(slug, revoked.installationId),
      pathOf(slug, randomUUID()),
    ]
    for (const at of paths) {
      const answers = [
        await register({}, at),
        await publisher.get(at),
        await publisher.call('DELETE', `${at}/${randomUUID()}`),
      ]
      expect(answers.map(outcome)).toEqual(Array(3).fill('404 installation_not_found'))
    }
  })

  it('is refused to whoever may not administer apps, and to installations', async () => {
    const member = (await accounts.person({})).api
    expect(outcome(await register({}, path, member))).toBe('403 insufficient_scope')
    expect(outcome(await register({}, path, accounts.test.api))).toBe('401 invalid_or_expired_credential')
    const stranger = (await accounts.person({ ...(await accounts.test.newTenant()).tenant, role: 'admin' })).api
    expect(outcome(await register({}, path, stranger))).toBe('404 installation_not_found')
  })
})
