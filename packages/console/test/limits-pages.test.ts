import type { OrganizationSettings } from '@berth/contract'
import { setQuotaOf } from '@berth/core/accounting/set-quota.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { newVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { spend } from '@berth/testing/console/usage-rows.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let browser: Browser
const visitors: Visitor[] = []
let page: Page
let memberPage: Page
let memberId: string
let membershipId: string
/** A colleague who administers by a program. */
let colleague: Awaited<ReturnType<Accounts['person']>>
beforeAll(async () => {
  accounts = stack.use(await startAccounts({ variables: { BERTH_RUN_BUDGET_USD: '5' } }))
  const { organizationId } = accounts.test.tenant
  const db = accounts.test.db.database
  colleague = await accounts.person({ role: 'admin' })
  const admin = await personWithPassword(db, organizationId, { role: 'admin' })
  const member = await personWithPassword(db, organizationId)
  await spend(db, { organizationId, at: new Date().toISOString(), costUsd: 8.5, personId: admin.personId })
  await setQuotaOf(db, { organizationId, period: 'month', limitUsd: 100 }, new Date())
  browser = await launchChromium()
  stack.defer(() => browser.close())
  page = await signIn(admin.email)
  memberPage = await signIn(member.email)
  memberId = member.personId
  membershipId = admin.membershipId
})
afterAll(() => stack.disposeAsync())

async function signIn(email: string): Promise<Page> {
  const visitor = stack.use(await newVisitor(browser, { scripts: true }))
  visitors.push(visitor)
  await openSignedIn(visitor.page, `${accounts.test.url}/organization/models`, { email })
  await visitor.page.getByRole('heading', { level: 1, name: 'Models' }).waitFor()
  return visitor.page
}

const saved = async () =>
  (await colleague.api.get<OrganizationSettings>('/cloud/settings')).body as unknown as OrganizationSettings
const form = (name: string) => page.getByRole('form', { name })

describe('an administrator', () => {
  it('sees what is spent of each budget, and sets one beside that of the operator', async () => {
    await page.getByText('set by your operator').waitFor()
    const save = form('Budgets of the organization').getByRole('button', { name: 'Save' })
    expect(await save.getAttribute('aria-disabled')).toBe('true')
    await page.getByLabel('A day (US dollars)').fill('-3')
    await page.getByText('Enter a number above 0, or nothing for no bound.').waitFor()
    await page.getByLabel('A day (US dollars)').fill('10')
    await save.click()
    await page.getByText('Saved.').waitFor()
    await page.getByText('$8.50 of $10.00').waitFor()
    expect((await saved()).own.dayUsd).toBe(10)
    await shoot(page, 'models')
    expect(await pageFaults(page)).toEqual([])
  })

  it('learns that a budget is spent', async () => {
    await page.getByLabel('A day (US dollars)').fill('5')
    await page.keyboard.press('Enter')
    await page.getByText('Spent: models refuse requests.').waitFor()
    await shoot(page, 'models-spent')
    await page.getByLabel('When it is reached: Today').selectOption('Then Runs wait for people')
    await page.getByText('Spent: Runs wait for people.').waitFor()
    expect((await saved()).budgets.map(({ setBy, onReached }) => [setBy, onReached])).toEqual([
      ['organization', 'pause'],
      ['operator', 'refuse'],
    ])
  })

  it('bounds a Run below what the operator allows, and keeps what a colleague set meanwhile', async () => {
    await page.getByRole('link', { name: 'Limits' }).click()
    await page.getByLabel('Steps (calls of the model)').fill('1.5')
    await page.getByText('Enter a whole number').waitFor()
    await page.getByLabel('Steps (calls of the model)').fill('40')
    await page.getByLabel('Cost (US dollars)').fill('2')
    const { own } = await saved()
    await colleague.api.put('/cloud/settings', { ...own, runSeconds: 600 })
    await form('Bounds of a Run').getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    await page.getByText('Cost: your operator allows').waitFor()
    expect((await saved()).own).toEqual({ ...own, runTurns: 40, runCostUsd: 2, runSeconds: 600 })
    await shoot(page, 'limits')
    expect(await pageFaults(page)).toEqual([])
  })
})

it('closes hosts to environments, and keeps a secret for one of them', async () => {
  const { id } = await new Environments(colleague.api).make({ name: 'release' })
  const policy = form('Network of environments')
  await policy.getByLabel('Hosts that no environment names').fill('Paste.example.org')
  await policy.getByText('is no name such as paste.example.org').waitFor()
  await policy.getByLabel('Hosts that no environment names').fill('paste.example.org *.example.net')
  await policy.getByLabel('Secrets of some environments').fill('DEPLOY_KEY: nowhere')
  await policy.getByText('There is no environment').waitFor()
  await page.reload()
  await policy.getByLabel('Hosts that no environment names').fill('paste.example.org *.example.net')
  await policy.getByLabel('Secrets of some environments').fill('DEPLOY_KEY: Release')
  await policy.getByRole('button', { name: 'Save' }).click()
  await policy.getByText('Saved.').waitFor()
  expect((await saved()).egress).toEqual({
    neverHosts: ['paste.example.org', '*.example.net'],
    secretEnvironments: { DEPLOY_KEY: [id] },
  })
  expect(await policy.getByLabel('Secrets of some environments').inputValue()).toBe('DEPLOY_KEY: release')
  await shoot(page, 'limits-network')
  expect(await pageFaults(page)).toEqual([])
})

describe('a budget of a member', () => {
  it('is set and removed among the limits', async () => {
    await page.getByLabel('Whose').selectOption({ value: `person ${memberId}` })
    await page.getByLabel('Limit (US dollars)').fill('0')
    await page.getByText('This would let nothing through.').waitFor()
    await page.getByLabel('Limit (US dollars)').fill('25')
    await page.getByRole('button', { name: 'Set the budget' }).click()
    await page.getByText('$0.00 of $25.00').waitFor()
    expect((await saved()).budgets).toContainEqual(
      expect.objectContaining({ scope: 'person', id: memberId, period: 'month', limitUsd: 25, onReached: 'pause' }),
    )
    await shoot(page, 'limits-people')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('button', { name: /Remove the budget of/ }).click()
    await page.getByText('No budget is set: each spends').waitFor()
  })
})

describe('a member', () => {
  it('sees the models, and no budget of the organization', async () => {
    await memberPage.getByRole('region', { name: 'Prices' }).waitFor()
    expect(await memberPage.getByRole('region', { name: 'Budgets' }).count()).toBe(0)
    await memberPage.goto(`${accounts.test.url}/organization/limits`)
    await memberPage.getByRole('heading', { name: 'Not for your role' }).waitFor()
  })
})

describe('an administrator who becomes a member while a page is open', () => {
  const setRole = (role: 'admin' | 'member') =>
    accounts.test.db.database.query('update memberships set role = $2 where id = $1', [membershipId, role])

  it('is told by the next action, keeps what was typed, and sees what is not for them', async () => {
    await page.goto(`${accounts.test.url}/organization/limits`)
    const bounds = form('Bounds of a Run')
    await bounds.getByRole('textbox').first().fill('3')
    await setRole('member')
    const save = bounds.getByRole('button', { name: 'Save' })
    await save.click()
    await bounds.getByRole('alert').getByText('You may not do this').waitFor()
    await save.focus()
    await bounds.getByRole('tooltip').getByText('This is for administrators. Ask one of yours.').waitFor()
    expect(await bounds.getByRole('textbox').first().inputValue()).toBe('3')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('link', { name: /Audit log.*not for your role/ }).click()
    await page.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor()
    await page.getByRole('heading', { name: 'Not for your role' }).waitFor()
  })

  it('acts again as soon as the role is back and the page is looked at', async () => {
    await setRole('admin')
    await page.evaluate(`dispatchEvent(new Event('visibilitychange'))`)
    await page.getByRole('heading', { name: 'Not for your role' }).waitFor({ state: 'detached' })
    await page.goto(`${accounts.test.url}/organization/limits`)
    await form('Bounds of a Run').getByRole('textbox').first().fill('4')
    await form('Bounds of a Run').getByRole('button', { name: 'Save' }).click()
    await form('Bounds of a Run').getByText('Saved.').waitFor()
  })
})

it('never met the policy of the page', () => {
  expect(visitors.flatMap(({ complaints }) => complaints)).toEqual([])
})
