import { randomBytes } from 'node:crypto'
import { type Accounts, assert, makeAppKey, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { Browser, pkce } from '@berth/testing/accounts/browser.ts'
import { CloudClient } from '@berth/testing/accounts/client.ts'
import { copyOf, sessionCookieOf } from '@berth/testing/accounts/session-cookie.ts'
import { signInPerson } from '@berth/testing/accounts/signer.ts'
import { Api } from '@berth/testing/api/api.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { issueReset, linkUrl } from '../../src/accounts/links/one-time-link.ts'
import { hashPassword } from '../../src/accounts/people/password.ts'
import { totpCode, totpStep } from '../../src/accounts/second-factor/totp.ts'

const password = 'correct horse battery'
const renewed = 'a horse of another color'
let accounts: Accounts
let client: CloudClient
let hashed: string
beforeAll(async () => {
  accounts = await startAccounts({ variables: { BERTH_TRUSTED_PROXIES: '127.0.0.1' } })
  client = new CloudClient(accounts.test.url)
  hashed = await hashPassword(password)
})
afterAll(() => accounts[Symbol.asyncDispose]())

const change = (text: string, values: readonly unknown[] = []) => accounts.test.db.database.query(text, values)

async function newPerson() {
  const person = await signInPerson(accounts.test.db.database, accounts.test.tenant.organizationId, { role: 'admin' })
  await change('update people set password_hash = $2 where id = $1', [person.personId, hashed])
  return { ...person, password }
}

/** Follows a reset link, as its person does on another machine. */
async function reset({ personId }: { readonly personId: string }) {
  const link = await issueReset(accounts.test.db.database, personId, null, new Date())
  const body = new URLSearchParams({ password: renewed })
  expect((await fetch(linkUrl(accounts.test.url, link), { method: 'POST', body })).status).toBe(200)
}

const authorize = (browser: Browser) => browser.get(client.authorizeUrl(pkce().challenge))

it('a new password ends the sessions of browsers, and lets the same browser sign in by it at once', async () => {
  const person = await newPerson()
  const { browser } = await client.signIn(person)
  expect((await authorize(browser)).text).toContain('Continue as')
  await reset(person)
  const page = await authorize(browser)
  expect(page.text).toContain('name="password"')
  expect((await browser.submit(page, person)).status).toBe(401)
  const signedIn = await browser.submit(await authorize(browser), { ...person, password: renewed })
  expect(signedIn.text).toContain('Continue as')
})

it('a new password ends a session that is about to approve a client', async () => {
  const person = await newPerson()
  const browser = new Browser(accounts.test.url)
  const page = await browser.submit(await authorize(browser), person)
  expect(page.text).toContain('Continue as')
  await reset(person)
  const { url } = await browser.submit(page)
  expect(new URL(url).searchParams.get('error')).toBe('access_denied')
  const { rows } = await change('select 1 from sign_ins where person_id = $1 and ended_at is null', [person.personId])
  expect(rows).toEqual([])
})

it('a new password ends a sign-in that waits for its second factor', async () => {
  const person = await newPerson()
  const secret = randomBytes(20)
  const sealed = accounts.masterKey.seal(secret, `totp/${person.personId}`)
  await change('update people set totp_secret = $2 where id = $1', [person.personId, sealed])
  const browser = new Browser(accounts.test.url)
  const page = await browser.submit(await authorize(browser), person)
  await reset(person)
  const late = await browser.submit(page, { code: totpCode(secret, totpStep(new Date())) })
  expect([late.status, late.text.includes('That took too long')]).toEqual([401, true])
})

it('a new password ends a sign-in on the page that installs an app', async () => {
  const person = await newPerson()
  const { issuer, test } = accounts
  const admin = await accounts.person({ role: 'admin' })
  const slug = `a-${randomBytes(6).toString('hex')}`
  await admin.api.call('POST', '/api/apps', { slug, name: 'Tidy', redirectUrls: [] })
  const key = await makeAppKey()
  await admin.api.call('POST', `/api/apps/${slug}/keys`, { publicKeyPem: key.publicKeyPem })
  const intent = { assertion: await assert(key, slug, issuer), capabilities: ['svc.cloud.access'] }
  const { body } = await new Api(test.url, 'none').call('POST', '/api/apps/installation-intents', intent)
  const { authorizeUrl } = body['intent'] as { authorizeUrl: string }
  const browser = new Browser(test.url)
  const page = await browser.submit(await browser.get(authorizeUrl), person)
  expect(page.text).toContain('Install Tidy?')
  await reset(person)
  expect((await browser.submit(page)).status).toBe(403)
  expect((await browser.get(authorizeUrl)).text).toContain('name="password"')
})

it('signing in gives the browser a new session, and the id that it brought is worth nothing', async () => {
  const person = await newPerson()
  const { browser } = await client.signIn(person)
  const before = copyOf(browser, new Browser(accounts.test.url))
  const page = await browser.get(client.authorizeUrl(pkce().challenge, { prompt: 'login' }))
  await browser.submit(page, person)
  expect(sessionCookieOf(before)).toBeDefined()
  expect(sessionCookieOf(browser)).not.toBe(sessionCookieOf(before))
  expect((await authorize(before)).text).toContain('name="password"')
})
