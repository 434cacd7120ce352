import { Agent, request } from 'node:http'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { Browser, pkce } from '@berth/testing/accounts/browser.ts'
import { CloudClient } from '@berth/testing/accounts/client.ts'
import { personToken, startSigner } from '@berth/testing/accounts/signer.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashPassword } from '../../src/accounts/people/password.ts'
import { totpCode, totpStep } from '../../src/accounts/second-factor/totp.ts'
import { rawRequest, readRaw, sendRaw } from '../../src/http/testing/raw-http.ts'

let accounts: Accounts
let port: number
let client: CloudClient
let signedIn: Awaited<ReturnType<CloudClient['signIn']>>
beforeAll(async () => {
  accounts = await startAccounts({ variables: { BERTH_TRUSTED_PROXIES: '127.0.0.1' } })
  port = Number(new URL(accounts.test.url).port)
  client = new CloudClient(accounts.test.url)
  signedIn = await client.signIn(await newPerson())
})
afterAll(() => accounts[Symbol.asyncDispose]())

const change = (text: string, values: readonly unknown[]) => accounts.test.db.database.query(text, values)
const password = 'correct horse battery'

/** A member with a password. */
async function newPerson() {
  const { who } = await accounts.person({})
  await change('update people set password_hash = $2 where id = $1', [who.personId, await hashPassword(password)])
  return { ...who, password }
}

const guarded = ['/v1/me', '/v1/sessions', '/v1/models', '/api/apps', '/api/sign-ins', '/cloud/repositories']

describe('a connection that stays open', () => {
  it.each<[string, string, () => Promise<{ bearer: string; revoke: () => Promise<unknown> }>]>([
    [
      'a key',
      '/v1/sessions',
      async () => {
        const { tenant } = await accounts.test.newTenant()
        const revoke = () =>
          change('update api_keys set revoked_at = now() where installation_id = $1', [tenant.installationId])
        return { bearer: tenant.apiKey, revoke }
      },
    ],
    [
      'an installation token',
      '/v1/sessions',
      async () => {
        const { tenant } = await accounts.test.newTenant()
        const { authUrl } = accounts.test.service.settings.urls
        const { mint } = await startSigner(accounts.test.db.database, authUrl, accounts.masterKey)
        const revoke = () =>
          change('update installations set revoked_at = now() where id = $1', [tenant.installationId])
        return { bearer: await mint.installationToken(tenant.installationId, 'svc-cloud', null), revoke }
      },
    ],
    [
      "a person's token",
      '/api/sign-ins',
      async () => {
        const { api, who } = await accounts.person({})
        return { bearer: api.key, revoke: () => api.call('DELETE', `/api/sign-ins/${who.signInId}`) }
      },
    ],
  ])('does not outlive %s', async (_, path, make) => {
    const { bearer, revoke } = await make()
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const ask = () =>
      new Promise<{ status: number | undefined; from: number | undefined }>((resolve, reject) => {
        const sent = request({ port, path, agent, headers: { authorization: `Bearer ${bearer}` } }, answer => {
          const { statusCode: status, socket } = answer
          const from = socket.localPort
          answer.resume().on('end', () => resolve({ status, from }))
        })
        sent.on('error', reject).end()
      })
    const first = await ask()
    expect(first.status).toBe(200)
    await revoke()
    expect(await ask()).toEqual({ status: 401, from: first.from })
    agent.destroy()
  })
})

describe('a request', () => {
  it.each(guarded)('with the cookies of a person who has signed in, and nothing else, is refused: %s', async path => {
    const { browser } = signedIn
    expect(browser.cookies.size).toBeGreaterThan(0)
    const cookies = [...browser.cookies].map(([name, { value }]) => `${name}=${value}`)
    const answer = await sendRaw(port, rawRequest('GET', path, [`Cookie: ${cookies.join('; ')}`]))
    expect(readRaw(answer).status).toBe(401)
    expect(answer).toContain(path.startsWith('/cloud/') ? 'sign_in_required' : 'bearer_credential_required')
  })

  it.each(guarded)('with two credentials that would each do is refused: %s', async path => {
    const { api } = await accounts.person({ role: 'admin' })
    const { authUrl } = accounts.test.service.settings.urls
    const { mint } = await startSigner(accounts.test.db.database, authUrl, accounts.masterKey)
    const { who } = await accounts.person({ role: 'admin' })
    const header = (bearer: string) => `Authorization: Bearer ${bearer}`
    const two = rawRequest('GET', path, [header(api.key), header(await personToken(mint, who))])
    expect(readRaw(await sendRaw(port, two)).status).toBe(401)
    if (path === '/cloud/repositories' || path === '/v1/models') return
    expect(readRaw(await sendRaw(port, rawRequest('GET', path, [header(api.key)]))).status).toBe(200)
  })

  it.each([...guarded, '/oidc/jwks', '/oidc/auth', '/install/a', '/links/a'])(
    'with a header of 100 KB is refused before anything is done with it: %s',
    async path => {
      const header = `Authorization: Bearer ${'a'.repeat(100_000)}`
      const answer = await sendRaw(port, rawRequest('GET', path, [header])).catch(String)
      // The service may close the connection while the header is still being sent.
      if (!/EPIPE|ECONNRESET/.test(answer)) expect(readRaw(answer).status).toBe(431)
      expect((await fetch(`${accounts.test.url}/healthz`)).status).toBe(200)
    },
  )
})

describe('a field of U+0000, which no database keeps', () => {
  it('is refused in a form as one that the page does not expect', async () => {
    const browser = new Browser(accounts.test.url)
    const page = await browser.get(client.authorizeUrl(pkce().challenge))
    expect((await browser.submit(page, { email: 'a\0@example.com', password })).status).toBe(400)
  })

  it.each(['state', 'nonce', 'login_hint', 'client_id', 'ui_locales'])(
    'is no fault of the service in %s',
    async name => {
      const url = new URL(client.authorizeUrl(pkce().challenge))
      url.searchParams.set(name, 'a\0')
      expect((await fetch(url, { redirect: 'manual' })).status).toBeLessThan(500)
    },
  )

  it.each([
    ...['/install/a%00', '/links/a%00', '/external/a%00/callback?state=%00&code=%00', '/account?a=%00'],
    ...['/oidc/device?user_code=%00', '/oidc/auth/a%00', '/oidc/session/end?id_token_hint=%00'],
  ])('is no fault of the service in %s', async path => {
    expect((await fetch(accounts.test.url + path, { redirect: 'manual' })).status).toBeLessThan(500)
  })

  it.each(['token', 'device/auth', 'token/revocation'])('is no fault of the service at /oidc/%s', async path => {
    const given = { client_id: 'svc-cloud', grant_type: 'refresh_token', scope: 'openid a\0' }
    const body = new URLSearchParams({ ...given, refresh_token: 'a\0', token: 'a\0' })
    expect((await fetch(`${accounts.test.url}/oidc/${path}`, { method: 'POST', body })).status).toBeLessThan(500)
  })
})

describe('a redirect', () => {
  const evil = 'evil.example'

  it.each([
    `https://${evil}/`,
    `http://127.0.0.1@${evil}/signed-out`,
    `http://127.0.0.1.${evil}/signed-out`,
    `http://127.0.0.1/signed-out/../${evil}`,
    `//${evil}/signed-out`,
    `javascript:alert('${evil}')`,
  ])('after signing out leads to no place that the client has not registered: %s', async uri => {
    const { browser, tokens } = signedIn
    const named = { client_id: 'svc-cloud', id_token_hint: tokens.id_token, post_logout_redirect_uri: uri }
    const page = await browser.get(`/oidc/session/end?${new URLSearchParams(named)}`)
    expect([page.status, page.headers.get('location')]).toEqual([400, null])
    expect(page.url.startsWith(accounts.test.url)).toBe(true)
  })

  it.each([
    `//${evil}/oidc/auth`,
    `/\\${evil}`,
    `/oidc//${evil}`,
    `/oidc/auth//${evil}`,
    `/install//${evil}`,
    `/links//${evil}`,
    `/links/https:%2f%2f${evil}%2f`,
    `/oidc/device?user_code=//${evil}`,
    `/oidc/session/end?state=${evil}&redirect=https://${evil}`,
    `https://${evil}/oidc/auth`,
  ])('is never made of the path or the query: %s', async target => {
    const [head = ''] = (await sendRaw(port, rawRequest('GET', target, []))).split('\r\n\r\n')
    expect(head.match(/^location:.*$/im)?.[0] ?? '').not.toContain(evil)
  })

  it.each(['/oidc/auth', '/oidc/device', '/oidc/session/end', '/.well-known/openid-configuration'])(
    'is never made of the host that the client names: %s',
    async path => {
      const query = path === '/oidc/auth' ? new URL(client.authorizeUrl(pkce().challenge)).search : ''
      const bytes = rawRequest('GET', path + query, [`X-Forwarded-Host: ${evil}`, `Forwarded: host=${evil}`])
      const answer = await sendRaw(port, bytes.replace('Host: test', `Host: ${evil}`))
      expect(answer).toMatch(/^HTTP\/1\.1 [23]/)
      expect(answer).not.toContain(evil)
    },
  )
})

describe('guesses at a second factor', () => {
  it('are bounded as those at a password are, whatever the address', async () => {
    const person = await newPerson()
    const secret = Buffer.alloc(20, 5)
    const sealed = accounts.masterKey.seal(secret, `totp/${person.personId}`)
    await change('update people set totp_secret = $2 where id = $1', [person.personId, sealed])
    const right = totpCode(secret, totpStep(new Date()))
    const wrong = right === '000000' ? '000001' : '000000'
    const browser = new Browser(accounts.test.url)
    let page = await browser.submit(await browser.get(client.authorizeUrl(pkce().challenge)), person)
    const statuses: number[] = []
    while (statuses.at(-1) !== 429 && statuses.length < 20) {
      browser.headers['x-forwarded-for'] = `203.0.113.${statuses.length}`
      page = await browser.submit(page, { code: wrong })
      statuses.push(page.status)
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
  })
})
