import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { signInPerson } from '@berth/testing/accounts/signer.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { inspect } from '@berth/testing/browser/inspect.ts'
import { newVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { hashPassword } from '../../src/accounts/people/password.ts'
import { totpCode, totpStep } from '../../src/accounts/second-factor/totp.ts'

const password = 'correct horse battery'
let accounts: Accounts
let browser: Browser
let hashed: string
beforeAll(async () => {
  accounts = await startAccounts()
  browser = await launchChromium()
  hashed = await hashPassword(password)
})
afterAll(async () => {
  await browser?.close()
  await accounts?.[Symbol.asyncDispose]()
})

/** Makes a member, and signs them in on the page of their account. */
async function openAccount({ page, fill, press }: Visitor): Promise<{ email: string }> {
  const person = await signInPerson(accounts.test.db.database, accounts.test.tenant.organizationId)
  await accounts.test.db.database.query('update people set password_hash = $2 where id = $1', [person.personId, hashed])
  await page.goto(`${accounts.test.url}/account`)
  await fill({ Email: person.email, Password: password })
  await press('Sign in')
  return person
}

/** Reads the key that the page shows for typing, and returns the code that an authenticator shows with it. */
async function codeOf({ page }: Visitor): Promise<string> {
  const key = (await page.locator('dd code').first().textContent())?.replaceAll(' ', '') ?? ''
  const bits = [...key].map(letter => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'))
  const bytes = bits.join('').match(/.{8}/g) ?? []
  return totpCode(Buffer.from(bytes.map(byte => Number.parseInt(byte, 2))), totpStep(new Date()))
}

it('a person without scripts sets up a second factor and signs in with a recovery code', async () => {
  await using visitor = await newVisitor(browser)
  const { page, fill, press, heading, complaints } = visitor
  const { email } = await openAccount(visitor)
  await page.getByRole('link', { name: 'Set up a second factor' }).click()
  await fill({ 'Your password': password })
  await press('Continue')
  expect(await page.getByRole('img', { name: 'QR code' }).isVisible()).toBe(true)
  await fill({ Code: await codeOf(visitor) })
  await press('Turn it on')
  expect(await heading()).toBe('Keep your recovery codes')
  const [recovery = ''] = await page.locator('ul.codes code').allTextContents()
  await visitor.context.clearCookies()
  await page.goto(`${accounts.test.url}/account`)
  await fill({ Email: email, Password: password })
  await press('Sign in')
  expect(await page.getByLabel('Code', { exact: true }).getAttribute('inputmode')).toBe('numeric')
  await page.getByText('Use a recovery code').click()
  await fill({ 'Recovery code': recovery })
  await press('Sign in with it')
  expect(await heading()).toBe('Your account')
  expect(complaints).toEqual([])
})

it('the pages of an account are ones that all people can use, in both colour schemes and on a phone', async () => {
  await using visitor = await newVisitor(browser, { scripts: true })
  const { page, fill, press, heading } = visitor
  const faults: Record<string, string[]> = {}
  const checkPage = async () => {
    const found = await inspect(page)
    if (found.length > 0) faults[await heading()] = found
  }
  await openAccount(visitor)
  await checkPage()
  await page.goto(`${accounts.test.url}/account/password`)
  await checkPage()
  await page.goto(`${accounts.test.url}/account/second-factor`)
  await checkPage()
  await fill({ 'Your password': password })
  await press('Continue')
  await checkPage()
  await fill({ Code: await codeOf(visitor) })
  await press('Turn it on')
  await checkPage()
  await page.goto(`${accounts.test.url}/account/second-factor`)
  await checkPage()
  expect(faults).toEqual({})
})
