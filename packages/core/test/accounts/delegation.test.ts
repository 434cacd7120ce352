import { generateKeyPairSync } from 'node:crypto'
import { DatabaseClock } from '@berth/platform/storage/postgres/database-clock.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { CloudClient } from '@berth/testing/accounts/client.ts'
import { ConfidentialClient } from '@berth/testing/accounts/confidential-client.ts'
import { personClaims, signInPerson, startSigner } from '@berth/testing/accounts/signer.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { hashPassword } from '../../src/accounts/people/password.ts'
import type { Mint } from '../../src/accounts/signing/mint.ts'
import { tokenTypes } from '../../src/identity/tokens/token-types.ts'

const secret = 'a secret of the portal, long enough: +/=&'
const { publicKey, privateKey } = generateKeyPairSync('ed25519')
const portalUri = 'https://portal.example.test/callback'
const bureauUri = 'http://127.0.0.1:39731/callback'

let accounts: Accounts
let portal: ConfidentialClient
let bureau: ConfidentialClient
let mint: Mint
beforeAll(async () => {
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'first' }
  accounts = await startAccounts({
    variables: { BERTH_TRUSTED_PROXIES: '127.0.0.1', PORTAL_SECRET: secret },
    config: {
      firstPartyClients: [
        { id: 'portal', name: 'The Portal', redirectUris: [portalUri], secret: { env: 'PORTAL_SECRET' } },
        { id: 'bureau', name: 'The Bureau', redirectUris: [bureauUri], jwks: { keys: [jwk] } },
      ],
    },
  })
  const { url } = accounts.test
  portal = new ConfidentialClient(url, 'portal', portalUri, { secret })
  bureau = new ConfidentialClient(url, 'bureau', bureauUri, { key: privateKey, kid: 'first' })
  ;({ mint } = await startSigner(accounts.test.db.database, url, accounts.masterKey))
})
afterAll(() => accounts[Symbol.asyncDispose]())

const change = (text: string, ...values: readonly unknown[]) => accounts.test.db.database.query(text, values)
const as = (token: unknown) => new Api(accounts.test.url, String(token))
const password = 'correct horse battery'
let hashed: Promise<string> | undefined

/** A member with a password. */
async function newPerson(organizationId = accounts.test.tenant.organizationId) {
  hashed ??= hashPassword(password)
  const person = await signInPerson(accounts.test.db.database, organizationId)
  await change('update people set password_hash = $2 where id = $1', person.personId, await hashed)
  return { ...person, password }
}

const sidOf = (token: string) => String(decodeJwt(token)['sid'])

describe('a delegation', () => {
  it.each(['portal', 'bureau'] as const)('lets a client act for the person who signed in with it: %s', async id => {
    const client = id === 'portal' ? portal : bureau
    const person = await newPerson()
    const tokens = await client.signIn(person)
    const { body } = await client.delegate(tokens.access_token)
    expect(body).toMatchObject({
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      token_type: 'Bearer',
      scope: 'svc.cloud.access',
    })
    expect(Object.keys(body)).not.toContain('refresh_token')
    const token = String(body['access_token'])
    expect(decodeProtectedHeader(token)).toMatchObject({ alg: 'RS256', typ: 'at+jwt' })
    const claims = decodeJwt(token)
    expect(claims).toMatchObject({ aud: 'svc-cloud', client_id: 'svc-cloud', act: { sub: id }, sub: person.personId })
    expect(claims['scope']).toBe('svc.cloud.access')
    expect(claims.exp).toBeLessThanOrEqual(decodeJwt(tokens.access_token).exp ?? 0)
    expect((await as(token).get('/v1/me')).body).toMatchObject({ membershipId: person.membershipId })
    expect((await as(token).get('/v1/sessions')).status).toBe(200)
  })

  it('ends no later than the token it came from, although a second begins meanwhile', async () => {
    const tokens = await portal.signIn(await newPerson())
    let polls = 0
    const now = vi.spyOn(DatabaseClock.prototype, 'now').mockImplementation(() => new Date(Date.now() + 1000 * polls++))
    const { body } = await portal.delegate(tokens.access_token).finally(() => now.mockRestore())
    const { exp } = decodeJwt(tokens.access_token)
    expect(decodeJwt(String(body['access_token'])).exp).toBe(exp)
  })

  it('takes from the bucket of the membership', async () => {
    const { organizationId } = await createTenant(accounts.test.db.database)
    const person = await newPerson(organizationId)
    const { body } = await portal.delegate((await portal.signIn(person)).access_token)
    await change('update organizations set rate_burst = 1, rate_per_minute = 1 where id = $1', organizationId)
    const own = await mint.sign(tokenTypes.person, person.personId, personClaims(person), 600)
    expect((await as(own).get('/v1/sessions')).status).toBe(200)
    expect(outcome(await as(body['access_token']).get('/v1/sessions'))).toBe('429 cloud_rate_limit_exceeded')
  })

  it('ends with the sign-in that it came from', async () => {
    const tokens = await portal.signIn(await newPerson())
    const token = (await portal.delegate(tokens.access_token)).body['access_token']
    await change('update sign_ins set ended_at = now() where id = $1', sidOf(tokens.access_token))
    expect(outcome(await as(token).get('/v1/me'))).toBe('401 invalid_or_expired_credential')
    expect((await portal.delegate(tokens.access_token)).outcome).toBe('400 invalid_request')
  })

  it("is the only way: the client's own token opens nothing", async () => {
    const { access_token: token } = await portal.signIn(await newPerson())
    expect(decodeJwt(token)).toMatchObject({ aud: 'portal', client_id: 'portal' })
    for (const path of ['/v1/me', '/v1/sessions', '/cloud/repositories', '/api/sign-ins']) {
      expect([path, outcome(await as(token).get(path))]).toEqual([path, '401 invalid_or_expired_credential'])
    }
  })

  it('does not let the client revoke what another client was given', async () => {
    const cloud = new CloudClient(accounts.test.url)
    const { tokens } = await cloud.signIn(await newPerson(), { scope: 'openid offline_access', prompt: 'consent' })
    const basic = Buffer.from(`portal:${encodeURIComponent(secret)}`).toString('base64')
    const revoked = await fetch(`${accounts.test.url}/oidc/token/revocation`, {
      method: 'POST',
      headers: { authorization: `Basic ${basic}` },
      body: new URLSearchParams({ token: tokens.refresh_token }),
    })
    expect(revoked.status).toBe(200)
    expect((await as(tokens.access_token).get('/v1/me')).status).toBe(200)
    expect((await cloud.refresh(tokens.refresh_token)).status).toBe(200)
  })

  it('is asked of the person under the name of the client', async () => {
    const { pages } = await portal.authorize(await newPerson())
    expect(pages[0]?.text).toContain('<strong>The Portal</strong> asks you to sign in.')
    expect(pages.at(-1)?.text).toContain('<strong>The Portal</strong> asks to act as')
  })
})

describe('the exchange', () => {
  it.each([
    ['another audience', { audience: 'svc-ai' }, '400 invalid_target'],
    ['no audience', { audience: null }, '400 invalid_target'],
    ['another resource', { resource: 'urn:svc:cloud' }, '400 invalid_target'],
    ['another scope', { scope: 'svc.ai.invoke' }, '400 invalid_scope'],
    ['a wider scope', { scope: 'svc.cloud.access svc.cloud.sessions:read' }, '400 invalid_scope'],
    [
      'a refresh token',
      { requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' },
      '400 invalid_request',
    ],
    [
      'another type of subject',
      { subject_token_type: 'urn:ietf:params:oauth:token-type:id_token' },
      '400 invalid_request',
    ],
    ['another actor', { actor_token: 'x', actor_token_type: 'x' }, '400 invalid_request'],
    ['no subject', { subject_token: null }, '400 invalid_request'],
  ])('refuses %s', async (_, changes, refused) => {
    const { access_token: token } = await portal.signIn(await newPerson())
    expect((await portal.delegate(token, changes)).outcome).toBe(refused)
    expect((await portal.delegate(token)).outcome).toBe('200')
  })

  it('takes no other token for the access token that it issued to this client', async () => {
    const person = await newPerson()
    const tokens = await portal.signIn(person)
    const theirs = await bureau.signIn(person)
    const cloud = await new CloudClient(accounts.test.url).signIn(person)
    const delegation = String((await portal.delegate(tokens.access_token)).body['access_token'])
    const { access_token: own } = tokens
    const [head, body, signature] = own.split('.')
    const claims = { ...decodeJwt(own) }
    const subject = (type: string, changes: object) => mint.sign(type, person.personId, { ...claims, ...changes }, 60)
    const unsigned = [Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url'), body, ''].join('.')
    const others = {
      'an ID token': tokens.id_token,
      'a refresh token': tokens.refresh_token,
      "another client's": theirs.access_token,
      'a token of svc-cloud': cloud.tokens.access_token,
      'a delegation': delegation,
      "an installation's": await mint.installationToken(accounts.test.tenant.installationId, 'svc-cloud', null),
      "an end user's": await mint.endUserToken(accounts.test.tenant.installationId, 'somebody'),
      'of another type': await subject('JWT', {}),
      'of another audience': await subject(tokenTypes.person, { aud: 'bureau' }),
      'of several audiences': await subject(tokenTypes.person, { aud: ['portal'] }),
      'for another client': await subject(tokenTypes.person, { client_id: 'bureau' }),
      "of another client's sign-in": await subject(tokenTypes.person, { sid: sidOf(theirs.access_token) }),
      expired: await mint.sign(tokenTypes.person, person.personId, claims, -1),
      unsigned,
      changed: [head, body, signature?.replace(/^./, first => (first === 'A' ? 'B' : 'A'))].join('.'),
      empty: 'x',
    }
    for (const [name, token] of Object.entries(others)) {
      expect([name, (await portal.delegate(token)).outcome]).toEqual([name, '400 invalid_request'])
    }
    expect((await portal.delegate(await subject(tokenTypes.person, {}))).outcome).toBe('200')
  })

  it.each([
    ['the membership ended', 'update memberships set revoked_at = now() where id = $1', 'membershipId'],
    ['the person is disabled', 'update people set disabled_at = now() where id = $1', 'personId'],
    ['the organization is suspended', 'update organizations set suspended_at = now() where id = $1', 'organizationId'],
  ] as const)('refuses once %s', async (_, text, field) => {
    const person = await newPerson((await createTenant(accounts.test.db.database)).organizationId)
    const { access_token: token } = await portal.signIn(person)
    await change(text, person[field])
    expect((await portal.delegate(token)).outcome).toBe('400 invalid_request')
  })

  it('gives an organization without product access nothing', async () => {
    const person = await newPerson((await createTenant(accounts.test.db.database)).organizationId)
    const { access_token: token } = await portal.signIn(person)
    await change('update organizations set cloud_access = false where id = $1', person.organizationId)
    expect((await portal.delegate(token)).outcome).toBe('400 invalid_scope')
  })

  it('is not for svc-cloud, nor for a client that does not prove itself', async () => {
    const person = await newPerson()
    const { access_token: token } = await portal.signIn(person)
    const cloud = new CloudClient(accounts.test.url)
    const { tokens } = await cloud.signIn(person)
    const request = {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      audience: 'svc-cloud',
    }
    expect((await cloud.token({ ...request, subject_token: tokens.access_token })).status).toBe(400)
    expect((await portal.token({ ...request, subject_token: token }, null)).status).toBe(401)
    expect((await portal.token({ ...request, subject_token: token }, { secret: 'wrong'.repeat(9) })).status).toBe(401)
  })

  it('takes an assertion of a client once, of many requests at the same moment too', async () => {
    const { access_token: token } = await bureau.signIn(await newPerson())
    for (let round = 0; round < 3; round += 1) {
      const named = await bureau.names()
      const answers = await Promise.all(Array.from({ length: 8 }, () => bureau.delegate(token, named)))
      expect(answers.map(answer => answer.outcome).sort()).toEqual(['200', ...Array(7).fill('401 invalid_client')])
    }
  })
})
