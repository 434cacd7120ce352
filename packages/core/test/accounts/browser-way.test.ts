import { randomBytes } from 'node:crypto'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { type AskingApp, makeAskingApp } from '@berth/testing/accounts/asking-app.ts'
import { pkce } from '@berth/testing/accounts/browser.ts'
import { CloudClient } from '@berth/testing/accounts/client.ts'
import { Api } from '@berth/testing/api/api.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { type OtherSite, startOtherSite } from '@berth/testing/browser/other-site.ts'
import { newVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { issueInvitation, linkUrl } from '../../src/accounts/links/one-time-link.ts'
import { findPersonByEmail } from '../../src/accounts/people/person.ts'
import { totpCode, totpStep } from '../../src/accounts/second-factor/totp.ts'

const password = 'correct horse battery'
const capabilities = ['svc.cloud.access', 'svc.cloud.sessions:read']
let accounts: Accounts
let browser: Browser
let appSite: OtherSite
let app: AskingApp
beforeAll(async () => {
  accounts = await startAccounts()
  browser = await launchChromium()
  appSite = await startOtherSite()
  app = await makeAskingApp(accounts, 'Tidy', `${appSite.origin}/installed`)
})
afterAll(async () => {
  await browser?.close()
  await appSite?.[Symbol.asyncDispose]()
  await accounts?.[Symbol.asyncDispose]()
})

let email: string
beforeEach(() => {
  email = `${randomBytes(6).toString('hex')}@example.test`
})

/** Makes a one-time link that invites the person of this test as an administrator. */
async function invite(organizationId: string): Promise<string> {
  const invited = { organizationId, email, role: 'admin', permissions: [] } as const
  return linkUrl(accounts.test.url, await issueInvitation(accounts.test.db.database, invited, null, new Date()))
}

/** Follows an invitation to a new organization, and makes the account on the first one. */
async function join({ page, fill, press, heading }: Visitor): Promise<string> {
  const { tenant } = await accounts.test.newTenant()
  await page.goto(await invite(tenant.organizationId))
  const isNew = (await findPersonByEmail(accounts.test.db.database, email)) === null
  await fill({ ...(isNew && { 'Your name': 'Ada Lovelace' }), Password: password })
  await press('Join')
  expect(await heading()).toBe('You are all set')
  return tenant.organizationId
}

/** Gives the person of this test a second factor, as if they had enrolled an authenticator. */
async function enrol(secret: Buffer): Promise<void> {
  const { id } = (await findPersonByEmail(accounts.test.db.database, email)) ?? { id: '' }
  await accounts.test.db.database.query('update people set totp_secret = $2 where id = $1', [
    id,
    accounts.masterKey.seal(secret, `totp/${id}`),
  ])
}

it('leads a person without scripts from an invitation to an installed app, until somebody revokes it', async () => {
  await using visitor = await newVisitor(browser)
  const { page, fill, press, heading, complaints } = visitor
  const organizationId = await join(visitor)
  const chosen = await join(visitor)
  const secret = randomBytes(20)
  await enrol(secret)

  const intent = await app.ask(capabilities, { state: 'a b&c' })
  await page.goto(intent.authorizeUrl)
  expect(await heading()).toBe('Sign in')
  await fill({ Email: email, Password: password })
  await press('Sign in')
  await fill({ Code: totpCode(secret, totpStep(new Date())) })
  await press('Continue')
  expect(await heading()).toBe('Where should Tidy be installed?')
  const { rows } = await accounts.test.db.database.query('select name from organizations where id = $1', [chosen])
  await page.locator(`label:has-text("${rows[0]?.['name']}")`).click()
  await press('Continue')
  expect(await heading()).toBe('Install Tidy?')
  expect(await page.locator('main').textContent()).toContain(appSite.origin)
  await press('Install in')

  expect(page.url()).toBe(`${appSite.origin}/installed?state=a%20b%26c`)
  expect(await heading()).toBe('Welcome back')
  expect(complaints).toEqual([])
  const { token, installationId } = await app.exchange(intent.id)
  const sessions = () => new Api(accounts.test.url, token).get('/v1/sessions')
  expect((await sessions()).status).toBe(200)

  const { api: stranger } = await accounts.person({ organizationId, role: 'admin' })
  const { api: admin } = await accounts.person({ organizationId: chosen, role: 'admin' })
  const path = `/api/installations/${installationId}`
  expect((await stranger.call('DELETE', path)).status).toBe(404)
  expect((await admin.call('DELETE', path)).status).toBeLessThan(300)
  expect((await sessions()).status).toBe(401)

  await page.goBack()
  expect(await heading()).toBe('This request is over')
})

it('signs a person in to a program on the machine by the keyboard alone, in the order of the page', async () => {
  await using visitor = await newVisitor(browser)
  const { page, heading, complaints } = visitor
  await join(visitor)
  await join(visitor)
  const { verifier, challenge } = pkce()
  const program = new CloudClient(accounts.test.url)
  const redirect = `${appSite.origin}/callback`
  const focused = () => page.locator(':focus').evaluate(element => element.getAttribute('name') ?? element.tagName)
  const go = (key: string) => Promise.all([page.waitForEvent('domcontentloaded'), page.keyboard.press(key)])

  await page.goto(program.authorizeUrl(challenge, { redirect_uri: redirect, state: 'mine' }))
  expect(await focused()).toBe('email')
  await page.keyboard.type(email)
  await page.keyboard.press('Tab')
  expect(await focused()).toBe('password')
  await page.keyboard.type(password)
  await page.keyboard.press('Tab')
  expect(await page.locator(':focus').textContent()).toBe('Sign in')
  await page.keyboard.press('Tab')
  expect(await page.locator(':focus').textContent()).toBe('Cancel')
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('Shift+Tab')
  await go('Enter')

  expect(await heading()).toBe('Continue as Ada Lovelace?')
  await page.keyboard.press('Tab')
  expect(await focused()).toBe('membership')
  await page.keyboard.press('ArrowDown')
  expect(await page.locator('label:has(:checked)').boundingBox()).not.toEqual(
    await page.locator('label.choice').first().boundingBox(),
  )
  await go('Enter')

  const landed = new URL(page.url())
  expect([landed.origin, landed.searchParams.get('state')]).toEqual([appSite.origin, 'mine'])
  const code = landed.searchParams.get('code') ?? ''
  const fields = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: redirect }
  expect((await program.token(fields)).status).toBe(200)
  expect(complaints).toEqual([])
})

it('sends a person back to the app without an installation if they refuse', async () => {
  await using visitor = await newVisitor(browser)
  const { page, fill, press, complaints } = visitor
  await join(visitor)
  const intent = await app.ask(capabilities)
  await page.goto(intent.authorizeUrl)
  await fill({ Email: email, Password: password })
  await press('Sign in')
  await press('Do not install')
  expect(page.url()).toBe(`${appSite.origin}/installed`)
  await expect(app.exchange(intent.id)).rejects.toThrow()
  expect(complaints).toEqual([])
})
