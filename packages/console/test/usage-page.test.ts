import { readFile } from 'node:fs/promises'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { newVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { type Spent, spend } from '@berth/testing/console/usage-rows.ts'
import { until } from '@berth/testing/until.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let browser: Browser
const visitors: Visitor[] = []
let organizationId: string
let adminPage: Page
let memberPage: Page
beforeAll(async () => {
  accounts = stack.use(await startAccounts())
  organizationId = accounts.test.tenant.organizationId
  const db = accounts.test.db.database
  const admin = await personWithPassword(db, organizationId, { role: 'admin' })
  const member = await personWithPassword(db, organizationId)
  await db.query(`update people set name = 'Grace Hopper' where id = $1`, [admin.personId])
  await db.query(`update people set name = 'Ada Lovelace' where id = $1`, [member.personId])
  const colleague = await accounts.person({})
  const session = await colleague.api.createSession({ title: 'Mend the flaky checkout' })
  await spend(db, ...someMonths(admin.personId, member.personId, session.id))
  browser = await launchChromium()
  stack.defer(() => browser.close())
  adminPage = await signIn(admin.email)
  memberPage = await signIn(member.email)
})
afterAll(() => stack.disposeAsync())

async function signIn(email: string): Promise<Page> {
  const visitor = stack.use(await newVisitor(browser, { scripts: true }))
  visitors.push(visitor)
  await openSignedIn(visitor.page, `${accounts.test.url}/usage`, { email })
  await visitor.page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor()
  return visitor.page
}

/** Requests of the last sixty days, of eight models and two people. */
function someMonths(admin: string, member: string, sessionId: string): Spent[] {
  return Array.from({ length: 60 * 4 }, (_, n) => {
    const day = Math.floor(n / 4)
    return {
      organizationId,
      at: new Date(Date.now() - day * 24 * 60 * 60_000).toISOString(),
      model: `acme/model-${(n * 7) % 8}`,
      costUsd: n % 50 === 0 ? null : ((n * 37) % 100) / 10,
      personId: n % 3 === 0 ? member : admin,
      ...(n % 5 === 0 && { sessionId }),
      ...(n % 9 === 0 && { outcome: 'failed' as const }),
    }
  })
}

const table = (page: Page) => page.getByRole('table')
const rowNames = async (page: Page) =>
  (await table(page).getByRole('rowheader').allTextContents()).map(text => text.trim())

describe('an administrator', () => {
  it('sees what everybody used, by day', async () => {
    await adminPage
      .getByRole('img', { name: /^Cost by day, \$/ })
      .locator('canvas')
      .waitFor()
    expect(await rowNames(adminPage)).toHaveLength(30)
    expect(await adminPage.locator('search [aria-current]').allTextContents()).toEqual(['Day'])
    expect(adminPage.url()).toMatch(/\/organization\/usage$/)
    await adminPage.getByText(/^A forecast: \$.* the mean of the last seven$/).waitFor()
    await adminPage.getByText('A merged pull request').waitFor()
    await shoot(adminPage, 'usage-day')
    expect(await pageFaults(adminPage)).toEqual([])
  })

  it('groups it by model, with the dearest first, and says all of it in the URL', async () => {
    await adminPage.getByRole('link', { name: 'Model', exact: true }).click()
    await adminPage.getByRole('heading', { name: 'Cost by day, by model' }).waitFor()
    expect(await adminPage.locator('search [aria-current]').allTextContents()).toEqual(['Model'])
    await adminPage.getByText('Others').first().waitFor()
    expect(await rowNames(adminPage)).toHaveLength(8)
    await adminPage.getByLabel('Measure').selectOption('tokens')
    await adminPage.getByLabel('Time', { exact: true }).selectOption('90d')
    await adminPage.waitForURL('**/organization/usage?by=model&measure=tokens&range=90d')
    await adminPage.getByRole('heading', { name: 'Tokens by day, by model' }).waitFor()
    // A chart that is drawn anew forgets the pointer.
    await until('the day below the pointer', async () => {
      for (const x of [690, 700]) await adminPage.getByRole('img').hover({ position: { x, y: 100 } })
      return adminPage.locator('figure').getByText('acme/model-', { exact: false }).first().isVisible()
    })
    await shoot(adminPage, 'usage-model')
    expect(await pageFaults(adminPage)).toEqual([])
    await adminPage.reload()
    expect(await adminPage.getByLabel('Measure').inputValue()).toBe('tokens')
    expect(await adminPage.getByLabel('Time', { exact: true }).inputValue()).toBe('90d')
  })

  it('names people and Sessions, and goes to a Session from there', async () => {
    await adminPage.getByRole('link', { name: 'Person' }).click()
    await adminPage.getByRole('rowheader', { name: 'Ada Lovelace' }).waitFor()
    expect(await rowNames(adminPage)).toEqual(expect.arrayContaining(['Ada Lovelace', 'Grace Hopper']))
    await shoot(adminPage, 'usage-person')
    await adminPage.getByRole('link', { name: 'Session', exact: true }).click()
    await adminPage.getByRole('rowheader', { name: 'Outside Sessions' }).waitFor()
    await adminPage.getByRole('link', { name: 'Mend the flaky checkout' }).last().click()
    await adminPage.getByRole('heading', { name: 'Mend the flaky checkout' }).waitFor()
    await adminPage.goBack()
  })

  it('chooses days, is told which the service would refuse, and takes them away as CSV', async () => {
    await adminPage.goto(`${accounts.test.url}/usage?by=model&from=2024-01-01&to=2026-01-01`)
    await adminPage.getByRole('alert').filter({ hasText: 'At most 366 days at once.' }).waitFor()
    const csv = adminPage.getByRole('button', { name: 'CSV' })
    expect(await csv.getAttribute('aria-disabled')).toBe('true')
    await adminPage.getByLabel('First day').fill('2025-12-31')
    await adminPage.getByRole('heading', { name: 'No requests in these days' }).waitFor()
    await shoot(adminPage, 'usage-empty')
    expect(await pageFaults(adminPage)).toEqual([])
    const [download] = await Promise.all([adminPage.waitForEvent('download'), csv.click()])
    expect(download.suggestedFilename()).toBe('usage-by-model-2025-12-31-2026-01-01.csv')
    expect(await readFile((await download.path()) ?? '', 'utf8')).toMatch(/^day,kind,id,name,/)
  })
})

describe('a member', () => {
  it('sees their own usage, and no choice of everybody', async () => {
    await memberPage.getByRole('img', { name: /^Cost by day, \$/ }).waitFor()
    await memberPage.getByRole('link', { name: 'Person' }).click()
    await memberPage.getByRole('heading', { name: 'Cost by day, by person' }).waitFor()
    expect(await rowNames(memberPage)).toEqual(['Ada Lovelace'])
    expect(await memberPage.getByLabel('Whose usage').count()).toBe(0)
  })
})

it('never met the policy of the page', () => {
  expect(visitors.flatMap(({ complaints }) => complaints)).toEqual([])
})
