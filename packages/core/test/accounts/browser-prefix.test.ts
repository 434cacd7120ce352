import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { type AskingApp, makeAskingApp } from '@berth/testing/accounts/asking-app.ts'
import { pkce } from '@berth/testing/accounts/browser.ts'
import { CloudClient } from '@berth/testing/accounts/client.ts'
import { type SignedIn, signInPerson } from '@berth/testing/accounts/signer.ts'
import { Api } from '@berth/testing/api/api.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { type OtherSite, startOtherSite } from '@berth/testing/browser/other-site.ts'
import { newVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { type PrefixProxy, startPrefixProxy } from '@berth/testing/services/prefix-proxy.ts'
import { decodeJwt } from 'jose'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { hashPassword } from '../../src/accounts/people/password.ts'

const prefix = '/account-service'
const password = 'correct horse battery'
let proxy: PrefixProxy
let accounts: Accounts
let browser: Browser
let appSite: OtherSite
let app: AskingApp
let person: SignedIn
beforeAll(async () => {
  proxy = await startPrefixProxy(prefix)
  setDefaultCACertificates([...getCACertificates(), proxy.ca])
  accounts = await startAccounts({ variables: { BERTH_AUTH_URL: proxy.url } })
  proxy.target = accounts.test.url
  browser = await launchChromium()
  appSite = await startOtherSite()
  app = await makeAskingApp(accounts, 'Tidy', `${appSite.origin}/installed`)
  const { database } = accounts.test.db
  person = await signInPerson(database, accounts.test.tenant.organizationId, { role: 'admin' })
  const hashed = await hashPassword(password)
  await database.query('update people set password_hash = $2 where id = $1', [person.personId, hashed])
})
afterAll(async () => {
  await browser?.close()
  await appSite?.[Symbol.asyncDispose]()
  await accounts?.[Symbol.asyncDispose]()
  await proxy?.[Symbol.asyncDispose]()
})

async function signIn({ fill, press }: Visitor): Promise<void> {
  await fill({ Email: person.email, Password: password })
  await press('Sign in')
}

/** Describes the cookies that a browser keeps, without the mark of the issuer. */
const cookiesOf = async ({ context }: Visitor) =>
  (await context.cookies())
    .map(({ name, path, secure, httpOnly }) => {
      return `${name.replace(/_[0-9a-f]{12}/, '')} ${path}${secure && httpOnly ? '' : ' is not safe'}`
    })
    .sort()
/** Those that outlive a sign-in. */
const lastingCookiesOf = async (visitor: Visitor) =>
  (await cookiesOf(visitor)).filter(cookie => !cookie.startsWith('__Secure-berth_interaction'))

it('signs people in under a path, and keeps its cookies from the other paths of the host', async () => {
  await using visitor = await newVisitor(browser, { trustsAnyone: true })
  const { page, press, heading, complaints } = visitor
  const program = new CloudClient(proxy.url)
  const { verifier, challenge } = pkce()
  const redirect = `${appSite.origin}/callback`
  await page.goto(program.authorizeUrl(challenge, { redirect_uri: redirect }))
  expect(page.url()).toMatch(`${proxy.url}/interaction/`)
  expect(await cookiesOf(visitor)).toContain(`__Secure-berth_interaction ${new URL(page.url()).pathname}`)
  await signIn(visitor)
  await press('Continue as')
  const landed = new URL(page.url())
  expect([landed.origin, landed.searchParams.get('iss')]).toEqual([appSite.origin, `${proxy.url}/oidc`])
  const fields = { grant_type: 'authorization_code', code_verifier: verifier, redirect_uri: redirect }
  const { status, body } = await program.token({ ...fields, code: landed.searchParams.get('code') ?? '' })
  expect([status, decodeJwt(String(body['access_token'])).iss]).toEqual([200, `${proxy.url}/oidc`])
  expect((await new Api(accounts.test.url, String(body['access_token'])).get('/v1/me')).status).toBe(200)
  expect(await lastingCookiesOf(visitor)).toEqual([
    `__Secure-berth_known ${prefix}`,
    `__Secure-berth_session ${prefix}`,
    `__Secure-berth_session.sig ${prefix}`,
  ])

  // The session of the sign-in opens the other pages, each of them at its own address.
  await page.goto(`${proxy.url}/account`)
  expect(await heading()).toBe('Your account')
  await page.getByRole('link', { name: 'Change your password' }).click()
  expect(page.url()).toBe(`${proxy.url}/account/password`)
  await page.goto((await app.ask(['svc.cloud.access'])).authorizeUrl)
  expect(await heading()).toBe('Install Tidy?')

  await page.goto(`${proxy.url}/oidc/session/end`)
  await press('Sign out')
  // Strangers who guess at the password do not keep this browser out, so it stays known.
  expect(await lastingCookiesOf(visitor)).toEqual([`__Secure-berth_known ${prefix}`])
  expect(complaints).toEqual([])
})

it.each([
  ['account', async () => `${proxy.url}/account`, 'Your account'],
  ['install', async () => (await app.ask(['svc.cloud.access'])).authorizeUrl, 'Install Tidy?'],
])('signs people in on the page %s under a path', async (room, address, title) => {
  await using visitor = await newVisitor(browser, { trustsAnyone: true })
  const { page, heading, complaints } = visitor
  await page.goto(await address())
  await signIn(visitor)
  expect(await heading()).toBe(title)
  expect(page.url()).toMatch(`${proxy.url}/${room}`)
  expect(await cookiesOf(visitor)).toEqual([
    `__Secure-berth_${room} ${prefix}/${room}`,
    `__Secure-berth_known ${prefix}`,
  ])
  if (room === 'install') {
    await visitor.press('Install in')
    expect(page.url()).toBe(`${appSite.origin}/installed`)
  }
  expect(complaints).toEqual([])
})
