import { createHmac, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { personClaims, personToken, type SignedIn, signInPerson, startSigner } from '@berth/testing/accounts/signer.ts'
import { Api } from '@berth/testing/api/api.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tokenTypes } from '../../src/identity/tokens/token-types.ts'

let test: TestService
let signer: Awaited<ReturnType<typeof startSigner>>
let person: SignedIn
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api' } })
  signer = await startSigner(test.db.database, test.service.settings.urls.authUrl)
  person = await signInPerson(test.db.database, test.tenant.organizationId)
})
afterAll(() => test[Symbol.asyncDispose]())

const me = async (token: string) => new Api(test.url, token).get('/v1/me')
const refused = '401 invalid_or_expired_credential'
const change = (text: string, values: readonly unknown[]) => test.db.database.query(text, values)

describe('an access token of a person', () => {
  it('says who they are, in which organization, and what they may do', async () => {
    const answer = await me(await personToken(signer.mint, person))
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({
      success: true,
      user: { id: person.personId, name: 'Robin Marsh', email: person.email },
      organizationId: test.tenant.organizationId,
      membershipId: person.membershipId,
      capabilities: expect.arrayContaining(['svc.cloud.access', 'svc.ai.invoke']),
    })
  })

  it('opens the Sessions of their organization, and answers 404 for those of another', async () => {
    const own = randomUUID()
    await test.api.put(`/v1/sessions/${own}`, {})
    const { api } = await test.newTenant()
    const other = randomUUID()
    await api.put(`/v1/sessions/${other}`, {})
    const asPerson = new Api(test.url, await personToken(signer.mint, person))
    expect((await asPerson.get(`/v1/sessions/${own}`)).status).toBe(200)
    expect(outcome(await asPerson.get(`/v1/sessions/${other}`))).toBe('404 cloud_session_not_found')
  })

  it('tells an administrator their permissions, and a member those that were given', async () => {
    const admin = await signInPerson(test.db.database, test.tenant.organizationId, { role: 'admin' })
    expect((await me(await personToken(signer.mint, admin))).body).toMatchObject({
      capabilities: expect.arrayContaining(['organization.integrations.manage', 'organization.applications.manage']),
    })
    const some = await signInPerson(test.db.database, test.tenant.organizationId, {
      permissions: ['organization.applications.manage'],
    })
    const { capabilities } = Object((await me(await personToken(signer.mint, some))).body)
    expect(capabilities).toContain('organization.applications.manage')
    expect(capabilities).not.toContain('organization.integrations.manage')
  })

  it.each([
    ['the membership', 'update memberships set revoked_at = now() where id = $1', 'membershipId'],
    ['the sign-in', 'update sign_ins set ended_at = now() where id = $1', 'signInId'],
    ['the person', 'update people set disabled_at = now() where id = $1', 'personId'],
    ['the organization', 'update organizations set suspended_at = now() where id = $1', 'organizationId'],
  ] as const)('is refused on the next request once %s has ended', async (_, statement, id) => {
    const { tenant } = await test.newTenant()
    const other = await signInPerson(test.db.database, tenant.organizationId)
    const token = await personToken(signer.mint, other)
    expect((await me(token)).status).toBe(200)
    await change(statement, [other[id]])
    expect(outcome(await me(token))).toBe(refused)
  })

  it('answers at /v1/me, and nowhere else, if the organization has no product access', async () => {
    const { tenant } = await test.newTenant()
    const other = await signInPerson(test.db.database, tenant.organizationId, { role: 'admin' })
    const token = await personToken(signer.mint, other)
    await change('update organizations set cloud_access = false where id = $1', [tenant.organizationId])
    const { capabilities } = Object((await me(token)).body)
    expect(capabilities).not.toContain('svc.cloud.access')
    expect(outcome(await new Api(test.url, token).get('/v1/sessions'))).toBe('403 cloud_access_denied')
  })

  it('is refused what only installations may do', async () => {
    const asPerson = new Api(test.url, await personToken(signer.mint, person))
    expect(outcome(await asPerson.get('/v1/repositories'))).toBe('403 installation_principal_required')
  })
})

describe('a token that is not what it says', () => {
  const now = () => Math.floor(Date.now() / 1000)
  const header = () => ({ alg: 'RS256', kid: signer.keys.current.kid, typ: 'at+jwt' })
  const forge = (head: object, claims: object, signature: (signed: string) => string | Promise<string>) => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const signed = `${part(head)}.${part(claims)}`
    return Promise.resolve(signature(signed)).then(end => `${signed}.${end}`)
  }
  const claims = () => ({
    ...personClaims(person),
    iss: signer.issuer,
    sub: person.personId,
    iat: now(),
    exp: now() + 600,
  })
  const signedWith = (changes: Record<string, unknown>, headers: Record<string, unknown> = {}) =>
    new SignJWT({ ...claims(), ...changes })
      .setProtectedHeader({ ...header(), ...headers })
      .sign(signer.keys.current.privateKey)
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 })

  it.each<[string, () => Promise<string>]>([
    ['unsigned', () => forge({ ...header(), alg: 'none' }, claims(), () => '')],
    [
      'signed by HMAC with the public key',
      () =>
        forge({ ...header(), alg: 'HS256' }, claims(), signed =>
          createHmac('sha256', JSON.stringify(signer.keys.current.publicJwk)).update(signed).digest('base64url'),
        ),
    ],
    ['signed by another key', () => new SignJWT(claims()).setProtectedHeader(header()).sign(other.privateKey)],
    [
      'signed by the key that it brings along',
      () =>
        new SignJWT(claims())
          .setProtectedHeader({ ...header(), kid: 'mine', jwk: other.publicKey.export({ format: 'jwk' }) })
          .sign(other.privateKey),
    ],
    ['of a key id that is a path', () => signedWith({}, { kid: '../../etc/passwd' })],
    ['of a key id that is SQL', () => signedWith({}, { kid: "' or true --" })],
    ['of no type', () => signedWith({}, { typ: undefined })],
    ['an ID token', () => signedWith({}, { typ: 'JWT' })],
    ['an installation token by its type', () => signedWith({}, { typ: tokenTypes.installation })],
    ['an end-user token by its type', () => signedWith({}, { typ: tokenTypes.endUser })],
    [
      'critical in something unknown, though well signed',
      () =>
        forge({ ...header(), crit: ['exp2'], exp2: 1 }, claims(), signed =>
          sign('sha256', Buffer.from(signed), signer.keys.current.privateKey).toString('base64url'),
        ),
    ],
    [
      'critical in what it is not, though well signed',
      () =>
        forge({ ...header(), crit: ['b64'], b64: true }, claims(), signed =>
          sign('sha256', Buffer.from(signed), signer.keys.current.privateKey).toString('base64url'),
        ),
    ],
    ['of another issuer', () => signedWith({ iss: 'https://elsewhere.example/oidc' })],
    ['for no audience', () => signedWith({ aud: undefined })],
    ['for another audience', () => signedWith({ aud: 'svc-ai' })],
    ['for a list of audiences', () => signedWith({ aud: ['svc-cloud'] })],
    ["for the endpoint's URL", () => signedWith({ aud: `${test.url}/v1/me` })],
    ['of another client', () => signedWith({ client_id: 'svc-console' })],
    ['expired', () => signedWith({ exp: now() - 1 })],
    ['without an end', () => signedWith({ exp: undefined })],
    ['for another person of the sign-in', () => signedWith({ sub: randomUUID() })],
    ['for another membership of the sign-in', () => signedWith({ membership: randomUUID() })],
    ['too long', () => signedWith({ padding: 'x'.repeat(8192) })],
  ])('is refused: %s', async (_, make) => {
    expect(outcome(await me(await make()))).toBe(refused)
  })

  it('is taken again with its claims as they were', async () => {
    expect((await me(await signedWith({}))).status).toBe(200)
  })
})

describe('an installation token', () => {
  it('acts as the installation until it is revoked, whatever connection it comes on', async () => {
    const { tenant } = await test.newTenant()
    const api = new Api(test.url, await signer.mint.installationToken(tenant.installationId, 'svc-cloud', null))
    expect((await api.get('/v1/sessions')).status).toBe(200)
    await change('update installations set revoked_at = now() where id = $1', [tenant.installationId])
    expect(outcome(await api.get('/v1/sessions'))).toBe(refused)
  })

  it('is none at /v1/me, nor is a key', async () => {
    expect(outcome(await me(await signer.mint.installationToken(test.tenant.installationId, 'svc-cloud', null)))).toBe(
      refused,
    )
    expect(outcome(await me(test.tenant.apiKey))).toBe(refused)
  })

  it('for models alone is none at the API, nor is that of an end user', async () => {
    const ai = await signer.mint.installationToken(test.tenant.installationId, 'svc-ai', null)
    const user = await signer.mint.endUserToken(test.tenant.installationId, 'somebody')
    for (const token of [ai, user]) {
      expect(outcome(await new Api(test.url, token).get('/v1/sessions'))).toBe(refused)
    }
  })

  it('dies with the membership of whoever consented', async () => {
    const admin = await signInPerson(test.db.database, test.tenant.organizationId, { role: 'admin' })
    const setup = randomUUID()
    await change(
      'insert into setup_authorities (id, installation_id, membership_id, created_at) values ($1, $2, $3, now())',
      [setup, test.tenant.installationId, admin.membershipId],
    )
    const token = await signer.mint.installationToken(test.tenant.installationId, 'svc-cloud', setup)
    const api = new Api(test.url, token)
    expect((await api.get('/v1/sessions')).status).toBe(200)
    await change('update memberships set revoked_at = now() where id = $1', [admin.membershipId])
    expect(outcome(await api.get('/v1/sessions'))).toBe(refused)
  })
})
