import { createHmac, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { type Capability, capabilities } from '@berth/contract'
import { type Accounts, type AppKeyPair, assert, makeAppKey, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { signInPerson } from '@berth/testing/accounts/signer.ts'
import { type Answer, Api } from '@berth/testing/api/api.ts'
import { createInstallation, type Tenant } from '@berth/testing/api/tenant.ts'
import { outcome, refusedFields } from '@berth/testing/runs/outcome.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let accounts: Accounts
let tenant: Tenant
let publisher: Api
let key: AppKeyPair
let backend: Api
beforeAll(async () => {
  accounts = await startAccounts()
  ;({ tenant } = accounts.test)
  publisher = (await accounts.person({ role: 'admin' })).api
  key = await makeAppKey()
  await register(key)
  backend = new Api(accounts.test.url, 'none')
})
afterAll(() => accounts[Symbol.asyncDispose]())

const register = (added: AppKeyPair) =>
  publisher.call('POST', `/api/apps/${tenant.appSlug}/keys`, { publicKeyPem: added.publicKeyPem })
const change = (text: string, values: readonly unknown[]) => accounts.test.db.database.query(text, values)
const now = () => Math.floor(Date.now() / 1000)
const mine = (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}, by = key) =>
  assert(by, tenant.appSlug, accounts.issuer, claims, header)

const exchange = async (more: Record<string, unknown> = {}) =>
  backend.call('POST', '/auth/app-installation-token', {
    assertion: await mine(),
    installationId: tenant.installationId,
    resourceAudience: 'svc-cloud',
    ...more,
  })
const endUser = async (more: Record<string, unknown> = {}) =>
  backend.call('POST', '/auth/app-end-user-token', {
    assertion: await mine(),
    installationId: tenant.installationId,
    endUserId: 'somebody',
    ...more,
  })
const tokenOf = ({ body }: Answer): string => String(body['token'])
const models = (token: string) => new Api(accounts.test.url, token).get('/v1/models')
const sessions = (token: string) => new Api(accounts.test.url, token).get('/v1/sessions')

describe('an assertion of a registered key', () => {
  it.each([
    ['EdDSA', {}],
    ['Ed25519', {}],
    ['EdDSA', { typ: 'JWT' }],
  ])('is exchanged for a token that opens the API: %s %j', async (alg, header) => {
    const answer = await exchange({ assertion: await mine({}, { alg, ...header }) })
    expect(answer).toMatchObject({ status: 200, body: { success: true, expiresIn: 600 } })
    expect(answer.headers.get('ratelimit-policy')).toContain('"svc-auth-token"')
    expect((await sessions(tokenOf(answer))).status).toBe(200)
  })

  it('may be presented again while it lasts, and by a clock that is a minute off', async () => {
    const assertion = await mine({ iat: now() + 55, exp: now() + 655 })
    expect((await exchange({ assertion })).status).toBe(200)
    expect((await exchange({ assertion })).status).toBe(200)
    expect((await exchange({ assertion: await mine({ iat: now() - 600, exp: now() - 30 }) })).status).toBe(200)
  })

  it('is refused from the moment its key is revoked, while a second key goes on', async () => {
    const [first, second] = [await makeAppKey(), await makeAppKey()]
    await Promise.all([register(first), register(second)])
    const assertion = await mine({}, {}, first)
    expect((await exchange({ assertion })).status).toBe(200)
    await publisher.call('DELETE', `/api/apps/${tenant.appSlug}/keys/${first.kid}`)
    expect(outcome(await exchange({ assertion }))).toBe('401 invalid_assertion')
    expect((await exchange({ assertion: await mine({}, {}, second) })).status).toBe(200)
  })
})

describe('an assertion that does not hold', () => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = () => ({
    iss: tenant.appSlug,
    sub: tenant.appSlug,
    aud: accounts.issuer,
    iat: now(),
    exp: now() + 540,
  })
  const forge = (head: object, signature: (signed: string) => string) => {
    const signed = `${part(head)}.${part(claims())}`
    return `${signed}.${signature(signed)}`
  }
  const signed = (text: string, by = key.privateKey) => sign(null, Buffer.from(text), by).toString('base64url')
  const stranger = generateKeyPairSync('ed25519')

  it.each<[string, () => string | Promise<string>]>([
    ['unsigned', () => forge({ alg: 'none', kid: key.kid }, () => '')],
    ['signed, but of no algorithm', () => forge({ alg: 'none', kid: key.kid }, text => signed(text))],
    [
      'signed by HMAC with the public key',
      () =>
        forge({ alg: 'HS256', kid: key.kid }, text =>
          createHmac('sha256', key.publicKeyPem).update(text).digest('base64url'),
        ),
    ],
    [
      'signed by a stranger under this key id',
      () => forge({ alg: 'EdDSA', kid: key.kid }, t => signed(t, stranger.privateKey)),
    ],
    [
      'signed by the key that it brings along',
      () =>
        forge({ alg: 'EdDSA', kid: key.kid, jwk: stranger.publicKey.export({ format: 'jwk' }) }, text =>
          signed(text, stranger.privateKey),
        ),
    ],
    ['of no key id', () => mine({}, { kid: undefined })],
    ['of an unknown key id', async () => mine({}, { kid: (await makeAppKey()).kid })],
    ['of a key id that is a path', () => mine({}, { kid: '../../../../../../etc/passwd' })],
    ['of a key id that is SQL', () => mine({}, { kid: "' or true --" })],
    ['of another type', () => mine({}, { typ: 'at+jwt' })],
    ['critical', () => forge({ alg: 'EdDSA', kid: key.kid, crit: ['b64'], b64: true }, text => signed(text))],
    ['for no audience', () => mine({ aud: undefined })],
    ['for another audience', () => mine({ aud: 'svc-cloud' })],
    ['for a list of audiences', () => mine({ aud: [accounts.issuer] })],
    ["for the endpoint's URL", () => mine({ aud: `${accounts.test.url}/auth/app-installation-token` })],
    ["for the service's origin", () => mine({ aud: accounts.test.url })],
    ['for the issuer with a slash', () => mine({ aud: `${accounts.issuer}/` })],
    ['of an app without this key', () => mine({ iss: 'development', sub: 'development' })],
    ['of an issuer that is not its subject', () => mine({ sub: 'development' })],
    ['of no subject', () => mine({ sub: undefined })],
    ['of 601 seconds', () => mine({ iat: now(), exp: now() + 601 })],
    ['issued in the future', () => mine({ iat: now() + 90, exp: now() + 400 })],
    ['issued at no time', () => mine({ iat: undefined })],
    ['without an end', () => mine({ exp: undefined })],
    ['expired', () => mine({ iat: now() - 400, exp: now() - 61 })],
    ['that ends before it begins', () => mine({ iat: now(), exp: now() - 1 })],
    ['not valid before later', () => mine({ nbf: now() + 90 })],
    ['of text for dates', () => mine({ iat: `${now()}` })],
    ['with another payload', async () => (await mine()).replace(/\.[^.]+\./, `.${part({ ...claims(), x: 1 })}.`)],
    ['cut off', async () => (await mine()).slice(0, -2)],
    ['with a tail', async () => `${await mine()}.AAAA`],
    ['no JWT', () => 'x'.repeat(20)],
    ['an installation token', async () => tokenOf(await exchange())],
  ])('is refused: %s', async (_, make) => {
    const assertion = await make()
    for (const answer of [await exchange({ assertion }), await endUser({ assertion })]) {
      expect([answer.status, answer.body]).toEqual([401, { error: 'invalid_assertion' }])
    }
  })

  it('is refused once the publisher is suspended', async () => {
    const other = await publisherWithKey()
    expect((await exchange(await other.exchangeBody())).status).toBe(200)
    await change('update organizations set suspended_at = now() where id = $1', [other.tenant.organizationId])
    expect(outcome(await exchange(await other.exchangeBody()))).toBe('401 invalid_assertion')
  })
})

/** Another organization with an app, a key of it and its installation. */
async function publisherWithKey() {
  const other = (await accounts.test.newTenant()).tenant
  const { api } = await accounts.person({ organizationId: other.organizationId, role: 'admin' })
  const own = await makeAppKey()
  await api.call('POST', `/api/apps/${other.appSlug}/keys`, { publicKeyPem: own.publicKeyPem })
  const exchangeBody = async () => ({
    assertion: await assert(own, other.appSlug, accounts.issuer),
    installationId: other.installationId,
  })
  return { tenant: other, exchangeBody }
}

describe('an exchange', () => {
  const installationWith = (held: readonly Capability[]) =>
    createInstallation(accounts.test.db.database, tenant.organizationId, tenant.appSlug, held)

  it('judges the assertion first', async () => {
    const answer = await exchange({ assertion: 'x'.repeat(20), installationId: randomUUID(), resourceAudience: 'no' })
    expect(outcome(answer)).toBe('401 invalid_assertion')
  })

  it('knows two audiences', async () => {
    expect(refusedFields(await exchange({ resourceAudience: 'svc-other' }))).toBe(
      '400 invalid_request resourceAudience',
    )
    const ai = tokenOf(await exchange({ resourceAudience: 'svc-ai' }))
    expect((await models(ai)).status).toBe(200)
    expect(outcome(await sessions(ai))).toBe('401 invalid_or_expired_credential')
  })

  it('finds no installation that is unknown, revoked or of another app', async () => {
    const other = await publisherWithKey()
    const revoked = await installationWith(capabilities)
    await change('update installations set revoked_at = now() where id = $1', [revoked.installationId])
    for (const installationId of [randomUUID(), revoked.installationId, other.tenant.installationId]) {
      expect(outcome(await exchange({ installationId }))).toBe('404 installation_not_found')
      expect(outcome(await endUser({ installationId }))).toBe('404 installation_not_found')
    }
    const { rows } = await accounts.test.db.database.query<{ details: object }>(
      "select details from audit_log where action = 'token.exchanged' and target = $1",
      [`installation ${revoked.installationId}`],
    )
    expect(rows).toEqual([
      { details: { error: 'installation_not_found' } },
      { details: { error: 'installation_not_found' } },
    ])
  })

  it('names what the grant lacks for the audience', async () => {
    const cloud = await installationWith(['svc.cloud.access', 'svc.cloud.sessions:read'])
    const ai = await installationWith(['svc.ai.invoke'])
    const answers = [
      await exchange({ installationId: ai.installationId }),
      await exchange({ installationId: cloud.installationId, resourceAudience: 'svc-ai' }),
      await endUser({ installationId: cloud.installationId }),
    ]
    expect(answers.map(answer => [outcome(answer), answer.body['requiredScope']])).toEqual([
      ['403 insufficient_scope', 'svc.cloud.access'],
      ['403 insufficient_scope', 'svc.ai.invoke'],
      ['403 insufficient_scope', 'svc.ai.invoke'],
    ])
  })

  it("gives tokens whose capabilities are the grant's at each request", async () => {
    const { installationId } = await installationWith(capabilities)
    const token = tokenOf(await exchange({ installationId }))
    expect((await sessions(token)).status).toBe(200)
    await change("update installations set capabilities = '{svc.cloud.access}' where id = $1", [installationId])
    expect(outcome(await sessions(token))).toBe('403 insufficient_scope')
    await change('update installations set revoked_at = now() where id = $1', [installationId])
    expect(outcome(await sessions(token))).toBe('401 invalid_or_expired_credential')
  })

  it('binds a token to a consent, which ends with the membership of whoever gave it', async () => {
    const person = await signInPerson(accounts.test.db.database, tenant.organizationId, { role: 'admin' })
    const setupAuthorityId = randomUUID()
    await change(
      'insert into setup_authorities (id, installation_id, membership_id, created_at) values ($1, $2, $3, now())',
      [setupAuthorityId, tenant.installationId, person.membershipId],
    )
    const sibling = await installationWith(capabilities)
    for (const exchangeBody of [
      { setupAuthorityId: randomUUID() },
      { installationId: sibling.installationId, setupAuthorityId },
    ]) {
      expect(outcome(await exchange(exchangeBody))).toBe('404 setup_authority_not_found')
    }
    const token = tokenOf(await exchange({ setupAuthorityId }))
    expect((await sessions(token)).status).toBe(200)
    await change('update memberships set revoked_at = now() where id = $1', [person.membershipId])
    expect(outcome(await sessions(token))).toBe('401 invalid_or_expired_credential')
    expect(outcome(await exchange({ setupAuthorityId }))).toBe('404 setup_authority_not_found')
    expect((await sessions(tokenOf(await exchange()))).status).toBe(200)
  })
})

describe('a token of an end user', () => {
  it('opens the gateway while the installation holds it, and the API never', async () => {
    const { installationId } = await createInstallation(
      accounts.test.db.database,
      tenant.organizationId,
      tenant.appSlug,
      capabilities,
    )
    const token = tokenOf(await endUser({ installationId }))
    expect((await models(token)).status).toBe(200)
    expect(outcome(await sessions(token))).toBe('401 invalid_or_expired_credential')
    await change("update installations set capabilities = '{svc.cloud.access}' where id = $1", [installationId])
    expect((await models(token)).status).toBe(403)
    await change('update installations set revoked_at = now() where id = $1', [installationId])
    expect((await models(token)).status).toBe(401)
  })

  it.each(['', 'x'.repeat(129)])('names its user in 1 to 128 characters, not %j', async endUserId => {
    expect(refusedFields(await endUser({ endUserId }))).toBe('400 invalid_request endUserId')
  })
})
