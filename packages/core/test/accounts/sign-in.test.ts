import { randomBytes, randomUUID, scryptSync } from 'node:crypto'
import { requireDeploymentKey } from '@berth/platform/storage/keys/deployment-key.ts'
import { DatabaseClock } from '@berth/platform/storage/postgres/database-clock.ts'
import { Browser, formOf, pkce, type Shown } from '@berth/testing/accounts/browser.ts'
import { CloudClient, codeOf, lasting, redirectUri } from '@berth/testing/accounts/client.ts'
import { signInPerson } from '@berth/testing/accounts/signer.ts'
import { Api } from '@berth/testing/api/api.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { hashPassword } from '../../src/accounts/people/password.ts'
import { totpCode, totpStep } from '../../src/accounts/second-factor/totp.ts'

let test: TestService
let client: CloudClient
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api,account', BERTH_TRUSTED_PROXIES: '127.0.0.1' } })
  client = new CloudClient(test.url)
})
afterAll(() => test[Symbol.asyncDispose]())

const change = (text: string, values: readonly unknown[] = []) => test.db.database.query(text, values)
const me = (token: string) => new Api(test.url, token).get('/v1/me')
const refused = '401 invalid_or_expired_credential'
const password = 'correct horse battery'
let hashed: Promise<string> | undefined

/** A member with a password. */
async function newPerson(organizationId = test.tenant.organizationId) {
  hashed ??= hashPassword(password)
  const person = await signInPerson(test.db.database, organizationId)
  await change('update people set password_hash = $2 where id = $1', [person.personId, await hashed])
  return { ...person, password }
}

describe('signing in with a browser', () => {
  it('gives tokens that say who the person is, and for which membership', async () => {
    const person = await newPerson()
    const { tokens } = await client.signIn(person)
    expect(decodeProtectedHeader(tokens.access_token)).toMatchObject({ alg: 'RS256', typ: 'at+jwt' })
    const claims = decodeJwt(tokens.access_token)
    expect(claims).toMatchObject({
      iss: `${test.url}/oidc`,
      aud: 'svc-cloud',
      client_id: 'svc-cloud',
      sub: person.personId,
      membership: person.membershipId,
      organization: person.organizationId,
      sid: expect.any(String),
    })
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(600)
    expect((await me(tokens.access_token)).body).toMatchObject({ user: { id: person.personId, email: person.email } })
    expect(decodeJwt(tokens.id_token)).toMatchObject({ sub: person.personId, aud: 'svc-cloud' })
  })

  it('gives a token for the service even if the client asks for no scope of it', async () => {
    const { tokens } = await client.signIn(await newPerson(), { scope: 'openid' })
    expect((await me(tokens.access_token)).status).toBe(200)
  })

  it('names the issuer and repeats the state where it sends the code', async () => {
    const { landed } = await client.authorize(await newPerson(), { state: 'mine' })
    const answer = new URL(landed.url)
    expect(Object.fromEntries(answer.searchParams)).toMatchObject({ iss: `${test.url}/oidc`, state: 'mine' })
  })

  it('asks again in the same browser, without the password, and makes another sign-in', async () => {
    const person = await newPerson()
    const first = await client.signIn(person, lasting)
    const page = await first.browser.get(client.authorizeUrl(pkce().challenge))
    expect(page.text).toContain('Continue as Robin Marsh')
    expect(page.text).not.toContain('name="password"')
    const second = await client.signIn(person, {}, first.browser)
    expect(decodeJwt(second.tokens.access_token)['sid']).not.toBe(decodeJwt(first.tokens.access_token)['sid'])
    expect((await me(first.tokens.access_token)).status).toBe(200)
  })

  it('lets a person of several organizations choose, the last used first', async () => {
    const { tenant } = await test.newTenant()
    const person = await newPerson()
    const membershipId = randomUUID()
    await change(
      `insert into memberships (id, organization_id, person_id, role, created_at, last_used_at)
       values ($1, $2, $3, 'member', now(), now())`,
      [membershipId, tenant.organizationId, person.personId],
    )
    const { tokens, browser } = await client.signIn(person)
    expect(decodeJwt(tokens.access_token)['membership']).toBe(membershipId)
    const { verifier, challenge } = pkce()
    const page = await browser.get(client.authorizeUrl(challenge))
    const landed = await browser.submit(page, { membership: person.membershipId })
    const { body } = await client.exchange(codeOf(landed), verifier)
    expect(decodeJwt(String(body['access_token']))['organization']).toBe(person.organizationId)
    const named = await client.signIn(person, { organization: tenant.organizationId })
    expect(decodeJwt(named.tokens.access_token)['organization']).toBe(tenant.organizationId)
  })

  it.each([
    ['nothing', (page: Shown, browser: Browser) => browser.submit(page, {}, 'cancel')],
    [
      'a membership of somebody else',
      async (page: Shown, browser: Browser) => {
        const again = await browser.submit(page, { membership: randomUUID() })
        expect(again.text).toContain('Continue as')
        return browser.submit(again, {}, 'cancel')
      },
    ],
  ])('gives the client access_denied if the person approves %s', async (_, act) => {
    const browser = new Browser(test.url)
    const person = await newPerson()
    const page = await browser.submit(await browser.get(client.authorizeUrl(pkce().challenge)), person)
    const { url } = await act(page, browser)
    expect(new URL(url).searchParams.get('error')).toBe('access_denied')
  })

  it('gives access_denied to somebody without a membership, and for another organization', async () => {
    const person = await newPerson()
    const { tenant } = await test.newTenant()
    const land = async (changes: Record<string, string>) => {
      const browser = new Browser(test.url)
      const page = await browser.get(client.authorizeUrl(pkce().challenge, changes))
      return new URL((await browser.submit(page, person)).url).searchParams.get('error')
    }
    expect(await land({ organization: tenant.organizationId })).toBe('access_denied')
    await change('update memberships set revoked_at = now() where id = $1', [person.membershipId])
    expect(await land({})).toBe('access_denied')
  })

  it('takes an older scrypt hash, and stores the password anew', async () => {
    const person = await newPerson()
    const salt = Buffer.alloc(16, 3)
    const hash = scryptSync(password, salt, 32, { N: 2 ** 14, r: 8, p: 1 })
    const stored = ['scrypt', 2 ** 14, 8, 1, salt.toString('base64url'), hash.toString('base64url')].join('$')
    await change('update people set password_hash = $2 where id = $1', [person.personId, stored])
    await client.signIn(person)
    const { rows } = await test.db.database.query<{ password_hash: string }>(
      'select password_hash from people where id = $1',
      [person.personId],
    )
    expect(rows[0]?.password_hash).toMatch(/^\$argon2id\$/)
    await client.signIn(person)
  })

  it('keeps no code, token, cookie or password in the database as it was given', async () => {
    const { code, verifier, browser } = await client.authorize(await newPerson(), lasting)
    const { body } = await client.exchange(code, verifier)
    const { rows } = await test.db.database.query<{ line: string }>(
      'select r::text as line from oidc_records r union all select s::text from sign_ins s',
    )
    const stored = rows.map(({ line }) => line).join('\n')
    const cookies = [...browser.cookies.values()].map(({ value }) => value)
    for (const secret of [code, String(body['refresh_token']), ...cookies, password]) {
      expect(stored).not.toContain(secret)
    }
  })
})

describe('a wrong attempt', () => {
  // The buckets fill again while a busy machine works: that of an address by a token every six seconds.
  beforeEach(() => {
    const now = vi.spyOn(DatabaseClock.prototype, 'now').mockReturnValue(new Date())
    return () => now.mockRestore()
  })

  const attempt = async (email: string, given: string, ip = '198.51.100.7') => {
    const browser = new Browser(test.url, { 'x-forwarded-for': ip })
    const page = await browser.get(client.authorizeUrl(pkce().challenge))
    return browser.submit(page, { email, password: given })
  }
  const without = (page: Shown) => page.text.replaceAll(/value="[^"]*"/g, '')

  it('looks the same whether the email is known or not, has no password, or is disabled', async () => {
    const known = await newPerson()
    const unset = await newPerson()
    await change('update people set password_hash = null where id = $1', [unset.personId])
    const disabled = await newPerson()
    await change('update people set disabled_at = now() where id = $1', [disabled.personId])
    const page = await attempt(known.email, 'wrong', '198.51.100.1')
    expect(page.status).toBe(401)
    expect(page.text).toContain('Email or password is wrong.')
    for (const [email, given] of [
      ['nobody@example.test', password],
      [unset.email, password],
      [unset.email, ''],
      [disabled.email, password],
    ] as const) {
      const other = await attempt(email, given, '198.51.100.1')
      expect([other.status, without(other)]).toEqual([401, without(page)])
    }
  })

  it.each([
    ['a person', async () => (await newPerson()).email],
    ['nobody', async () => `${randomUUID()}@example.test`],
  ])('is refused after five at once for the email of %s, whatever the address', async (_, emailOf) => {
    const email = await emailOf()
    const statuses = []
    for (let n = 0; n < 6; n++) statuses.push((await attempt(email, 'wrong', `203.0.113.${n}`)).status)
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
    const limited = await attempt(email.toUpperCase(), password, '203.0.113.99')
    expect(limited.status).toBe(429)
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  it('is refused after ten at once from one address, whatever the email', async () => {
    const statuses = []
    for (let n = 0; n < 11; n++) statuses.push((await attempt(`${randomUUID()}@example.test`, 'x', '192.0.2.1')).status)
    expect(statuses.slice(0, 10)).toEqual(Array(10).fill(401))
    expect(statuses[10]).toBe(429)
  })
})

describe('an authorization request', () => {
  const ask = (changes: Record<string, string | null>) =>
    new Browser(test.url).get(client.authorizeUrl(pkce().challenge, changes))

  it.each<[string, Record<string, string | null>]>([
    ['without PKCE', { code_challenge: null, code_challenge_method: null }],
    ['with the plain method', { code_challenge_method: 'plain' }],
    ['without a method', { code_challenge_method: null }],
    ['for a token in the URL', { response_type: 'token' }],
  ])('%s is sent back to the client with an error', async (_, changes) => {
    const { url } = await ask(changes)
    expect(url.startsWith(redirectUri)).toBe(true)
    expect(url).toMatch(/[?#&]error=(invalid_request|unsupported_response_type|unauthorized_client)/)
    expect(url).not.toContain('code=')
  })

  it.each([
    'http://127.0.0.1:39121/other',
    'http://127.0.0.1:39121/callback/',
    'http://127.0.0.1:39121/callback/../callback',
    'http://127.0.0.1:39121/callback?more=1',
    'http://127.0.0.1:39121/callback#part',
    'http://localhost:39121/callback',
    'https://127.0.0.1:39121/callback',
    'http://evil.example/callback',
    'http://127.0.0.1@evil.example/callback',
    'http://evil.example@127.0.0.1:39121/callback',
    'http://127.0.0.1:39121@evil.example/callback',
    'http://127.0.0.1.evil.example/callback',
    'http://127.1:39121/callback',
    'http://127.0.0.1:39121\\@evil.example/callback',
    'javascript:alert(1)',
  ])('that names %s as its redirect goes nowhere', async uri => {
    const page = await ask({ redirect_uri: uri })
    expect(page.status).toBe(400)
    expect(page.url.startsWith(test.url)).toBe(true)
    expect(page.text).toContain('This sign-in cannot go on')
    expect(page.text).not.toContain('<script')
  })

  it('may use any port of both loopback addresses', async () => {
    for (const uri of ['http://127.0.0.1:1024/callback', 'http://[::1]:65535/callback']) {
      expect((await ask({ redirect_uri: uri })).text).toContain('name="password"')
    }
  })

  it('of an unknown client goes nowhere, nor does one with markup in it get it onto the page', async () => {
    const page = await ask({ client_id: '<script>alert(1)</script>' })
    expect(page.status).toBe(400)
    expect(page.text).not.toContain('<script')
  })
})

describe('a code', () => {
  it('needs its verifier and its redirect', async () => {
    const person = await newPerson()
    const one = await client.authorize(person)
    expect((await client.exchange(one.code, pkce().verifier)).body['error']).toBe('invalid_grant')
    const fields = { grant_type: 'authorization_code', code: one.code, code_verifier: one.verifier }
    const elsewhere = await client.token({ ...fields, redirect_uri: 'http://127.0.0.1:1/callback' })
    expect(elsewhere.body['error']).toBe('invalid_grant')
    const none = await client.token({ grant_type: 'authorization_code', code: one.code, redirect_uri: redirectUri })
    expect(none.body['error']).toBe('invalid_grant')
  })

  it('that is presented twice is refused, and ends the sign-in', async () => {
    const { code, verifier } = await client.authorize(await newPerson())
    const { body } = await client.exchange(code, verifier)
    const token = String(body['access_token'])
    expect((await me(token)).status).toBe(200)
    expect((await client.exchange(code, verifier)).body['error']).toBe('invalid_grant')
    expect(outcome(await me(token))).toBe(refused)
  })
})

/** Lets ten seconds go by for every refresh token that was used. */
const tenSecondsLater = () =>
  change("update oidc_records set consumed_at = consumed_at - interval '10 s' where kind = 'RefreshToken'")

describe('a refresh token', () => {
  it('gives new tokens, and is another one each time', async () => {
    const { tokens } = await client.signIn(await newPerson(), lasting)
    const { status, body } = await client.refresh(tokens.refresh_token)
    expect(status).toBe(200)
    expect(body['refresh_token']).not.toBe(tokens.refresh_token)
    expect((await me(String(body['access_token']))).status).toBe(200)
  })

  it('presented three times at the same moment works once, and the sign-in lives', async () => {
    const { tokens } = await client.signIn(await newPerson(), lasting)
    const answers = await Promise.all([1, 2, 3].map(() => client.refresh(tokens.refresh_token)))
    expect(answers.map(({ status, body }) => `${status} ${body['error'] ?? 'won'}`).sort()).toEqual([
      '200 won',
      '400 invalid_grant',
      '400 invalid_grant',
    ])
    const won = answers.find(({ status }) => status === 200)
    expect((await me(String(won?.body['access_token']))).status).toBe(200)
    expect((await client.refresh(String(won?.body['refresh_token']))).status).toBe(200)
  })

  it('presented again within ten seconds of its first use is refused, and ends nothing', async () => {
    const { tokens } = await client.signIn(await newPerson(), lasting)
    const { body } = await client.refresh(tokens.refresh_token)
    expect((await client.refresh(tokens.refresh_token)).body['error']).toBe('invalid_grant')
    expect((await me(String(body['access_token']))).status).toBe(200)
    expect((await client.refresh(String(body['refresh_token']))).status).toBe(200)
  })

  it('presented again later ends the sign-in', async () => {
    const { tokens } = await client.signIn(await newPerson(), lasting)
    const { body } = await client.refresh(tokens.refresh_token)
    await tenSecondsLater()
    expect((await client.refresh(tokens.refresh_token)).body['error']).toBe('invalid_grant')
    expect(outcome(await me(String(body['access_token'])))).toBe(refused)
    expect((await client.refresh(String(body['refresh_token']))).body['error']).toBe('invalid_grant')
  })

  it.each([
    ['the membership', 'update memberships set revoked_at = now() where id = $1', 'membershipId'],
    ['the person', 'update people set disabled_at = now() where id = $1', 'personId'],
  ] as const)('is refused once %s has ended', async (_, statement, id) => {
    const person = await newPerson()
    const { tokens } = await client.signIn(person, lasting)
    await change(statement, [person[id]])
    expect((await client.refresh(tokens.refresh_token)).body['error']).toBe('invalid_grant')
  })

  it('that is revoked ends the sign-in at once; an access token cannot be revoked', async () => {
    const { tokens } = await client.signIn(await newPerson(), lasting)
    const revoke = (token: string) =>
      fetch(`${test.url}/oidc/token/revocation`, {
        method: 'POST',
        body: new URLSearchParams({ client_id: 'svc-cloud', token }),
      })
    const refusal = await revoke(tokens.access_token)
    expect(await refusal.json()).toMatchObject({ error: 'unsupported_token_type' })
    expect((await me(tokens.access_token)).status).toBe(200)
    expect((await revoke(tokens.refresh_token)).status).toBe(200)
    expect(outcome(await me(tokens.access_token))).toBe(refused)
  })

  it('that was used a moment ago still ends the sign-in where it is revoked', async () => {
    const { tokens } = await client.signIn(await newPerson(), lasting)
    const { body } = await client.refresh(tokens.refresh_token)
    const form = new URLSearchParams({ client_id: 'svc-cloud', token: tokens.refresh_token })
    expect((await fetch(`${test.url}/oidc/token/revocation`, { method: 'POST', body: form })).status).toBe(200)
    expect(outcome(await me(String(body['access_token'])))).toBe(refused)
  })

  it('is no access token, nor is an ID token', async () => {
    const { tokens } = await client.signIn(await newPerson())
    expect(outcome(await me(tokens.refresh_token))).toBe(refused)
    expect(outcome(await me(tokens.id_token))).toBe(refused)
  })
})

describe('signing out', () => {
  it('asks first, and then ends the sign-in of this browser, but none that was to outlive it', async () => {
    const person = await newPerson()
    const other = await client.signIn(person, lasting)
    const { tokens, browser } = await client.signIn(person)
    const page = await browser.get('/oidc/session/end')
    expect(page.text).toContain('Sign out of Berth?')
    expect((await me(tokens.access_token)).status).toBe(200)
    expect((await browser.submit(page)).text).toContain('Signed out')
    expect(outcome(await me(tokens.access_token))).toBe(refused)
    expect((await client.refresh(tokens.refresh_token)).body['error']).toBe('invalid_grant')
    expect((await me(other.tokens.access_token)).status).toBe(200)
    expect((await browser.get(client.authorizeUrl(pkce().challenge))).text).toContain('name="password"')
  })

  it('ends all sign-ins of this browser that were to end with it, of which none ended another', async () => {
    const person = await newPerson()
    const first = await client.signIn(person)
    const second = await client.signIn(person, {}, first.browser)
    const outliving = await client.signIn(person, lasting, first.browser)
    const third = await client.signIn(person, {}, first.browser)
    const refreshed = await client.refresh(first.tokens.refresh_token)
    expect(refreshed.status).toBe(200)
    for (const { tokens } of [first, second, outliving, third]) expect((await me(tokens.access_token)).status).toBe(200)
    await first.browser.submit(await first.browser.get('/oidc/session/end'))
    for (const { tokens } of [first, second, third]) expect(outcome(await me(tokens.access_token))).toBe(refused)
    for (const token of [refreshed.body['refresh_token'], second.tokens.refresh_token]) {
      expect((await client.refresh(String(token))).body['error']).toBe('invalid_grant')
    }
    expect((await client.refresh(outliving.tokens.refresh_token)).status).toBe(200)
  })

  it('needs the form of this browser', async () => {
    const { tokens, browser } = await client.signIn(await newPerson())
    const fields = { xsrf: 'guess', logout: 'yes' }
    expect((await browser.post('/oidc/session/end/confirm', fields)).status).toBe(400)
    const page = await browser.get('/oidc/session/end')
    const forged = await browser.post('/oidc/session/end/confirm', fields, { 'sec-fetch-site': 'cross-site' })
    expect(forged.status).toBe(403)
    expect((await me(tokens.access_token)).status).toBe(200)
    await browser.submit(page)
  })
})

describe('a page of the sign-in', () => {
  it('loads nothing, runs nothing, is framed nowhere and kept nowhere', async () => {
    const { headers, text } = await new Browser(test.url).get(client.authorizeUrl(pkce().challenge))
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('form-action')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(text).not.toContain('<script')
  })

  it('takes a form only with its own token, from its own origin and browser', async () => {
    const person = await newPerson()
    const browser = new Browser(test.url)
    const page = await browser.get(client.authorizeUrl(pkce().challenge))
    const form = { email: person.email, password, decision: 'sign-in' }
    expect((await browser.post(page.url, form)).status).toBe(403)
    expect((await browser.submit(page, { ...form, csrf: 'guess' })).status).toBe(403)
    const csrf = /name="csrf" value="([^"]*)"/.exec(page.text)?.[1] ?? ''
    const elsewhere = await browser.post(page.url, { ...form, csrf }, { 'sec-fetch-site': 'cross-site' })
    expect(elsewhere.status).toBe(403)
    const origin = { origin: 'https://evil.example', 'sec-fetch-site': 'same-site' }
    expect((await browser.post(page.url, { ...form, csrf }, origin)).status).toBe(403)
    expect((await new Browser(test.url).post(page.url, { ...form, csrf })).status).toBe(400)
    expect((await browser.submit(page, person)).text).toContain('Continue as')
  })

  it('escapes what clients and people put on it', async () => {
    const hint = '"><script>alert(1)</script>'
    const page = await new Browser(test.url).get(client.authorizeUrl(pkce().challenge, { login_hint: hint }))
    expect(formOf(page).fields['email']).toBe(hint)
    expect(page.text).not.toContain('<script')
  })
})

describe('the second factor', () => {
  const enrolled = async () => {
    const person = await newPerson()
    const secret = randomBytes(20)
    const key = await requireDeploymentKey(test.db.database, {
      key: undefined,
      dataDir: test.dataDir,
      log: { info() {}, warn() {}, error() {} },
    })
    const sealed = key.seal(secret, `totp/${person.personId}`)
    await change('update people set totp_secret = $2 where id = $1', [person.personId, sealed])
    return { person, secret }
  }

  it('may be sent twice by a double click', async () => {
    const { person, secret } = await enrolled()
    const browser = new Browser(test.url)
    const page = await browser.submit(await browser.get(client.authorizeUrl(pkce().challenge)), person)
    const { action, fields } = formOf(page)
    const code = totpCode(secret, totpStep(new Date()))
    const press = () =>
      fetch(action, {
        method: 'POST',
        redirect: 'manual',
        body: new URLSearchParams({ ...fields, decision: 'verify', code }),
        headers: {
          cookie: [...browser.cookies].map(([name, { value }]) => `${name}=${value}`).join('; '),
          'sec-fetch-site': 'same-origin',
          origin: 'null',
        },
      })
    const answers = await Promise.all([press(), press()])
    expect(answers.map(({ status }) => status)).toEqual([303, 303])
    expect((await browser.get(answers[1]?.headers.get('location') ?? '')).text).toContain('Continue as')
  })

  it('is asked for after the password, and each code counts once', async () => {
    const { person, secret } = await enrolled()
    const code = () => totpCode(secret, totpStep(new Date()) + 1)
    const enter = async () => {
      const browser = new Browser(test.url)
      const page = await browser.submit(await browser.get(client.authorizeUrl(pkce().challenge)), person)
      expect(page.text).toContain('name="code"')
      return { browser, page }
    }
    const first = await enter()
    const wrong = await first.browser.submit(first.page, { code: '000 000' })
    expect([wrong.status, wrong.text.includes('This code is wrong')]).toEqual([401, true])
    const taken = code()
    expect((await first.browser.submit(wrong, { code: taken })).text).toContain('Continue as')
    const second = await enter()
    expect((await second.browser.submit(second.page, { code: taken })).status).toBe(401)
    const forged = await second.browser.submit(second.page, { code: taken, factor: 'AAAA' })
    expect(forged.text).toContain('name="password"')
  })
})
