import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { hasFocus, pressOn, tabTo } from '@berth/testing/console/by-keyboard.ts'
import { givePassword, password } from '@berth/testing/console/console-page.ts'
import { oneWay } from '@berth/testing/one-way.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let email: string
let visitor: Visitor
let page: Page
beforeAll(async () => {
  accounts = stack.use(await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } }))
  const { who } = await accounts.person({ role: 'admin' })
  await givePassword(accounts.test.db.database, who)
  email = who.email
  visitor = await openVisitor(stack)
  page = visitor.page
})
afterAll(() => stack.disposeAsync())

const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true })
const dialog = (name: string | RegExp) => page.getByRole('dialog', { name })

// Nothing here clicks, fills or focuses: every step is a key.
describe('from the sign-in to the merge by the keyboard alone', () => {
  oneWay()

  it('signs in where the focus already stands', async () => {
    await page.goto(`${accounts.test.url}/sessions`)
    await page.getByLabel('Password').and(page.locator('input')).waitFor()
    await page.keyboard.type(email)
    await page.keyboard.press('Tab')
    await page.keyboard.type(password)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: /Welcome/ }).waitFor()
  })

  it('starts the demonstration', async () => {
    await pressOn(page, button('Try the demonstration'))
    const task = page.getByLabel('What should the agent do?')
    await page.getByRole('combobox', { name: 'Repository' }).and(page.locator('[value$="/greeter"]')).waitFor()
    await tabTo(page, task)
    await page.keyboard.press('Control+Enter')
    await page.getByRole('log').getByText('demonstration').first().waitFor()
  })

  it('allows what the agent asks for', async () => {
    const allow = page.getByRole('button', { name: /^Allow once/ })
    await pressOn(page, allow)
    await allow.waitFor({ state: 'detached' })
    await page.getByRole('log').getByText('What I did').waitFor()
  })

  it('reads the changes', async () => {
    await pressOn(page, page.getByRole('log').getByRole('link', { name: 'Review' }))
    const lines = page.getByRole('region', { name: 'Changed lines' })
    await lines.getByText('Hola').first().waitFor()
    // The region scrolls, so it is a stop of its own, and arrows move it.
    await tabTo(page, lines)
  })

  it('publishes them, and is back where the dialog was opened', async () => {
    await pressOn(page, button(/^(Create pull request|Publish…)$/))
    await pressOn(page, page.getByRole('dialog').getByRole('button', { name: 'Open the pull request' }))
    await page.getByRole('dialog').getByText('Published as pull request #1.').waitFor()
    await pressOn(page, page.getByRole('dialog').getByRole('button', { name: 'Done' }))
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await hasFocus(page)).toBe(true)
  })

  it('merges the pull request', async () => {
    await pressOn(page, page.getByRole('list', { name: 'Deliveries' }).getByRole('button', { name: 'Merge…' }))
    await pressOn(page, dialog('Merge #1 now?').getByRole('button', { name: 'Merge', exact: true }))
    await page.getByRole('list', { name: 'Deliveries' }).getByText('Merged as').waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await hasFocus(page)).toBe(true)
  })

  it('never meets the policy of the page', () => {
    expect(visitor.complaints).toEqual([])
  })
})
