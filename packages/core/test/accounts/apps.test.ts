import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { type Accounts, makeAppKey, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { outcome, refusedFields, tally } from '@berth/testing/runs/outcome.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let accounts: Accounts
let publisher: Api
beforeAll(async () => {
  accounts = await startAccounts()
  publisher = (await accounts.person({ permissions: ['organization.applications.manage'] })).api
})
afterAll(() => accounts[Symbol.asyncDispose]())

const newSlug = () => `a-${randomUUID()}`
const createApp = async (more: object = {}) => {
  const slug = newSlug()
  const answer = await publisher.call('POST', '/api/apps', { slug, name: 'Some App', ...more })
  expect(answer.status).toBe(201)
  return slug
}
const register = (slug: string, publicKeyPem: string, by = publisher) =>
  by.call('POST', `/api/apps/${slug}/keys`, { publicKeyPem })

describe('an app', () => {
  it('is made by whoever may manage apps, and listed for their organization', async () => {
    const slug = await createApp({ redirectUrls: ['https://app.example/installed?a=b', 'http://127.0.0.1:9/back'] })
    const { body } = await publisher.get('/api/apps')
    expect(body).toMatchObject({ success: true, apps: expect.arrayContaining([expect.objectContaining({ slug })]) })
  })

  it('is not made without the permission, nor with an installation credential', async () => {
    const member = (await accounts.person({})).api
    const answer = await member.call('POST', '/api/apps', { slug: newSlug(), name: 'a' })
    expect([outcome(answer), answer.body['requiredScope']]).toEqual([
      '403 insufficient_scope',
      'organization.applications.manage',
    ])
    expect(outcome(await accounts.test.api.get('/api/apps'))).toBe('401 invalid_or_expired_credential')
  })

  it('keeps its slug from everybody, deleted or not', async () => {
    const slug = await createApp()
    const again = () => publisher.call('POST', '/api/apps', { slug, name: 'Another' })
    expect(outcome(await again())).toBe('409 app_slug_taken')
    await accounts.test.db.database.query('update apps set deleted_at = now() where slug = $1', [slug])
    expect(outcome(await again())).toBe('409 app_slug_taken')
  })

  it.each(['svc-mine', 'A', 'a', '1ab', 'a_b', `a${'b'.repeat(63)}`, 'a b', ''])(
    'is refused the slug %j',
    async slug => {
      expect(refusedFields(await publisher.call('POST', '/api/apps', { slug, name: 'a' }))).toBe(
        '400 invalid_request slug',
      )
    },
  )

  it.each([
    'http://app.example/',
    'http://localhost/back',
    'http://127.0.0.1.example/',
    'https://user@app.example/',
    'https://@app.example/',
    'https://app.example/#there',
    'https://app.example\\@evil.example/',
    'javascript:alert(1)',
    'app.example/back',
  ])('is refused the redirect URL %s', async url => {
    const app = { slug: newSlug(), name: 'a', redirectUrls: [url] }
    expect(refusedFields(await publisher.call('POST', '/api/apps', app))).toBe('400 invalid_request redirectUrls.0')
  })
})

describe('a key of an app', () => {
  it('is named by its thumbprint, and registering it again changes nothing', async () => {
    const [slug, key] = [await createApp(), await makeAppKey()]
    expect(await register(slug, key.publicKeyPem)).toMatchObject({ status: 201, body: { success: true, kid: key.kid } })
    expect(await register(slug, key.publicKeyPem)).toMatchObject({ status: 200, body: { success: true, kid: key.kid } })
    expect((await publisher.get(`/api/apps/${slug}/keys`)).body).toMatchObject({ keys: [{ kid: key.kid }] })
  })

  it.each<[string, () => string | Buffer]>([
    ['a private key', () => generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' })],
    ['an X25519 key', () => generateKeyPairSync('x25519').publicKey.export({ format: 'pem', type: 'spki' })],
    [
      'an RSA key',
      () => generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'pem', type: 'spki' }),
    ],
    [
      'an elliptic curve key',
      () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'pem', type: 'spki' }),
    ],
    ['no key', () => 'ssh-ed25519 AAAA'],
    ['a broken key', () => '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n'],
  ])('is not %s, which is neither kept nor told back', async (_, make) => {
    const slug = await createApp()
    const pem = make().toString()
    const answer = await register(slug, pem)
    expect(refusedFields(answer)).toBe('400 invalid_request publicKeyPem')
    expect(answer.text).not.toContain(pem.split('\n')[1] ?? pem)
    expect((await publisher.get(`/api/apps/${slug}/keys`)).body).toEqual({ success: true, keys: [] })
  })

  it('is one of ten active ones, also if eight come at once', async () => {
    const slug = await createApp()
    const keys = await Promise.all(Array.from({ length: 17 }, makeAppKey))
    const add = (some: typeof keys) => Promise.all(some.map(key => register(slug, key.publicKeyPem)))
    expect(tally(await add(keys.slice(0, 9)))).toEqual({ '201': 9 })
    expect(tally(await add(keys.slice(9)))).toEqual({ '201': 1, '409 app_key_limit_reached': 7 })
    expect((await publisher.call('DELETE', `/api/apps/${slug}/keys/${keys[0]?.kid}`)).status).toBe(204)
    expect((await register(slug, (await makeAppKey()).publicKeyPem)).status).toBe(201)
  })

  it('never returns once it was revoked', async () => {
    const [slug, key] = [await createApp(), await makeAppKey()]
    await register(slug, key.publicKeyPem)
    const revoke = () => publisher.call('DELETE', `/api/apps/${slug}/keys/${key.kid}`)
    expect([(await revoke()).status, (await revoke()).status]).toEqual([204, 204])
    expect(refusedFields(await register(slug, key.publicKeyPem))).toBe('400 invalid_request publicKeyPem')
    const { rows } = await accounts.test.db.database.query<{ action: string }>(
      "select action from audit_log where target = $1 and details->>'kid' = $2",
      [`app ${slug}`, key.kid],
    )
    expect(rows.map(({ action }) => action)).toContain('app.key_revoked')
    const { keys } = (await publisher.get<{ keys: object[] }>(`/api/apps/${slug}/keys`)).body
    expect(keys).toMatchObject([{ kid: key.kid, revokedAt: expect.any(String) }])
  })

  it('is missing to another organization, as is the app', async () => {
    const [slug, key] = [await createApp(), await makeAppKey()]
    await register(slug, key.publicKeyPem)
    const { tenant } = await accounts.test.newTenant()
    const stranger = (await accounts.person({ organizationId: tenant.organizationId, role: 'admin' })).api
    const answers = [
      await register(slug, key.publicKeyPem, stranger),
      await register(slug, 'nothing', stranger),
      await stranger.get(`/api/apps/${slug}/keys`),
      await stranger.call('DELETE', `/api/apps/${slug}/keys/${key.kid}`),
      await publisher.get('/api/apps/svc-cloud/keys'),
    ]
    expect(answers.map(outcome)).toEqual(answers.map(() => '404 app_not_found'))
    expect((await stranger.get<{ apps: object[] }>('/api/apps')).body.apps).not.toContainEqual(
      expect.objectContaining({ slug }),
    )
    const other = (await makeAppKey()).kid
    expect(outcome(await publisher.call('DELETE', `/api/apps/${slug}/keys/${other}`))).toBe('404 app_key_not_found')
  })
})
