import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { Browser } from '@berth/testing/accounts/browser.ts'
import { until } from '@berth/testing/until.ts'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { insertIdentity } from '../../src/accounts/external/identity-sql.ts'
import { hashPassword } from '../../src/accounts/people/password.ts'
import { insertPerson, proveEmail, setPassword } from '../../src/accounts/people/person.ts'

const keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 })
const organization = randomUUID()
let server: Server
let issuer: string
let accounts: Accounts
/** What the provider answers at its token endpoint. */
let tokens: () => Promise<Record<string, unknown>>

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const answers: Record<string, () => unknown> = {
      '/.well-known/openid-configuration': () => ({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
      }),
      '/jwks': () => ({ keys: [{ ...keys.publicKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig' }] }),
      '/token': () => tokens(),
    }
    const answer = JSON.stringify(await answers[request.url ?? '']?.())
    response.setHeader('content-type', 'application/json').end(answer)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = { id: 'acme', name: 'Acme', issuer, clientId: 'berth', clientSecret: 'a secret of the client' }
  accounts = await startAccounts({
    variables: { BERTH_TRUSTED_PROXIES: '127.0.0.1', BERTH_ISSUANCE_RATE_PER_MINUTE: '1' },
    fixed: { issuanceBurstSeconds: 5 * 60 },
    config: { identityProviders: [{ ...provider, organization, domains: ['acme.test'] }] },
  })
  await change("insert into organizations (id, name, created_at) values ($1, 'Acme', now())", [organization])
})
afterAll(async () => {
  await accounts[Symbol.asyncDispose]()
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
})

const change = (text: string, values: readonly unknown[]) => accounts.test.db.database.query(text, values)

interface Forged {
  readonly claims?: Readonly<Record<string, unknown>>
  readonly key?: KeyObject
  /** More members of the token endpoint's answer. */
  readonly more?: Readonly<Record<string, unknown>>
}

/** Goes to the provider from a form of a page. @returns the address that the provider sends the browser back to */
async function ask(browser: Browser, path = '/account', { claims, key = keys.privateKey, more }: Forged = {}) {
  const params = new URL((await browser.submit(await browser.get(path), {}, 'acme')).url).searchParams
  const sub = randomUUID()
  const now = Math.floor(Date.now() / 1000)
  const tokenClaims = { iss: issuer, sub, aud: 'berth', iat: now, exp: now + 60, nonce: params.get('nonce') }
  const idToken = await new SignJWT({ ...tokenClaims, email: `${sub}@acme.test`, email_verified: true, ...claims })
    .setProtectedHeader({ alg: 'RS256' })
    .sign(key)
  tokens = async () => ({ access_token: 'a', token_type: 'bearer', id_token: idToken, ...more })
  return `${accounts.test.url}/external/acme/callback?code=c&state=${params.get('state')}`
}

async function signIn(forged: Forged = {}) {
  const browser = new Browser(accounts.test.url)
  return browser.get(await ask(browser, '/account', forged))
}

it('lets in whom its provider names in a token for this sign-in', async () => {
  expect((await signIn()).text).toContain('Your account')
})

it.each<[string, Forged]>([
  ['a token for another sign-in', { claims: { nonce: 'another' } }],
  ['a token for no sign-in', { claims: { nonce: undefined } }],
  ['a token for another client', { claims: { aud: 'another' } }],
  ['a token of another issuer', { claims: { iss: 'https://idp.test' } }],
  ['a token that has ended', { claims: { exp: 1 } }],
  ['a token that somebody else signed', { key: stranger.privateKey }],
  ['a subject that is too long', { claims: { sub: 'x'.repeat(256) } }],
  ['a subject that no database keeps', { claims: { sub: 'x\0' } }],
  ['more than an answer needs', { more: { padding: 'x'.repeat(256 * 1024) } }],
])('refuses %s', async (_, forged) => {
  expect((await signIn(forged)).status).toBe(502)
})

it('keeps a sign-in that fits into a cookie, whatever the provider says of the person', async () => {
  const { text } = await signIn({ claims: { name: 'x'.repeat(10_000) } })
  expect(text).toContain('Your account')
})

it('takes the answer for one page at no other', async () => {
  const browser = new Browser(accounts.test.url)
  const back = await ask(browser)
  // The same browser, at a form of another session of the page.
  for (const name of browser.cookies.keys()) if (name.startsWith('berth_account')) browser.cookies.delete(name)
  expect((await browser.get(back)).text).toContain('name="password"')
})

it('takes no answer once the time to sign in there is over', async () => {
  const browser = new Browser(accounts.test.url)
  const back = await ask(browser)
  const [name = '', cookie] = [...browser.cookies].find(([each]) => each.startsWith('berth_external')) ?? []
  const kept = JSON.parse(accounts.masterKey.open(Buffer.from(cookie?.value ?? '', 'base64url'), name).toString())
  expect(kept.until).toBeLessThanOrEqual(Date.now() + 10 * 60_000)
  const value = accounts.masterKey.seal(JSON.stringify({ ...kept, until: Date.now() - 1 }), name).toString('base64url')
  browser.cookies.set(name, { value, path: '/' })
  expect((await browser.get(back)).status).toBe(400)
})

it('meters answers and forms by their address', async () => {
  const browser = new Browser(accounts.test.url)
  const statuses = new Set<number>()
  for (let n = 0; n < 10; n++) statuses.add((await browser.get('/external/acme/callback?code=c&state=s')).status)
  expect([...statuses]).toEqual([400, 429])
  const limited = await browser.post('/account', {})
  expect([limited.status, Number(limited.headers.get('retry-after')) > 0]).toEqual([429, true])
})

/** Signs in as the owner of an email while somebody changes that account; commits once the sign-in waits. */
async function signInWhile(email: string, sub: string, first: (tx: Queryable) => Promise<unknown>) {
  const { database } = accounts.test.db
  const { page } = await database.transaction(async tx => {
    await first(tx)
    const page = signIn({ claims: { sub, email } })
    const waits = async () => {
      const text = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
      // On another connection: a transaction never sees a connection that was opened after its first look.
      return (await database.query(text)).rows.length > 0
    }
    await Promise.race([page, until('the sign-in waits', waits)])
    return { page }
  })
  return page
}

async function openAccount() {
  const id = randomUUID()
  const person = { id, email: `${id}@acme.test`, name: 'Ann Other', passwordHash: null }
  await insertPerson(accounts.test.db.database, person, new Date())
  await proveEmail(accounts.test.db.database, id, new Date())
  return person
}

it('links no account that gets its password at the same moment', async () => {
  const { id, email } = await openAccount()
  const hash = await hashPassword('correct horse battery')
  const page = await signInWhile(email, randomUUID(), tx => setPassword(tx, id, hash))
  expect([page.status, page.text.includes('Sign in with its password')]).toEqual([403, true])
  expect((await change('select 1 from external_identities where person_id = $1', [id])).rows).toEqual([])
})

it('lets a person in whose other browser has just joined by the same identity', async () => {
  const { id, email } = await openAccount()
  const subject = randomUUID()
  const page = await signInWhile(email, subject, async tx => {
    await tx.query('select 1 from people where id = $1 for update', [id])
    await insertIdentity(tx, id, { issuer, subject }, new Date())
  })
  expect(page.text).toContain('Ann Other')
})
