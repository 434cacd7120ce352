import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { givePassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { oneWay } from '@berth/testing/one-way.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let api: Api
let visitor: Visitor
let page: Page
beforeAll(async () => {
  accounts = stack.use(await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } }))
  const { api: own, who } = await accounts.person({ role: 'admin' })
  api = own
  await givePassword(accounts.test.db.database, who)
  visitor = await openVisitor(stack)
  page = visitor.page
  await openSignedIn(page, `${accounts.test.url}/sessions`, who)
})
afterAll(() => stack.disposeAsync())

describe('without a model', () => {
  oneWay()
  it('says so, and offers the demonstration', async () => {
    await page.getByRole('heading', { name: /Welcome/ }).waitFor()
    await page.getByRole('region', { name: 'No model' }).waitFor()
    await shoot(page, 'welcome-without-model')
    expect(await pageFaults(page)).toEqual([])
  })

  it('says how to add one, and checks what is there', async () => {
    await page.getByRole('link', { name: 'Add a model' }).click()
    await page.getByText('"kind": "openai"').waitFor()
    await page.getByRole('button', { name: 'Check the providers' }).click()
    await page.getByText('The running service knows no provider').waitFor()
    await shoot(page, 'models-without-model')
    expect(await pageFaults(page)).toEqual([])
    await page.goBack()
  })

  it('fills the form of a new Session in with the demonstration', async () => {
    await page.getByRole('button', { name: 'Try the demonstration' }).click()
    await page.getByRole('combobox', { name: 'Repository' }).and(page.locator('[value$="/greeter"]')).waitFor()
    expect(await page.getByLabel('Agent', { exact: true }).inputValue()).toBe('demo')
    expect(await page.getByLabel('Effort').count()).toBe(0)
    expect(await page.getByLabel('What should the agent do?').inputValue()).toMatch(/Spanish/)
    await shoot(page, 'new-session-demonstration')
    expect(await pageFaults(page)).toEqual([])
  })

  it('edits, and asks once', async () => {
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByRole('log').getByText('demonstration').first().waitFor()
    await page.getByRole('button', { name: /Allow once/ }).click()
    await page.getByRole('log').getByText('What I did').waitFor()
    expect(await page.getByText('this agent cannot work yet').count()).toBe(0)
  })

  it('ends in a pull request that merges', async () => {
    await page.getByRole('button', { name: 'Create pull request' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Open the pull request' }).click()
    await dialog.getByText('Published as pull request #1.').waitFor()
    await dialog.getByRole('button', { name: 'Done' }).click()
    await shoot(page, 'demonstration-published')
    // The step in the header opens the panel, and asks at once.
    await page.getByRole('link', { name: 'Merge #1' }).click()
    const deliveries = page.getByRole('list', { name: 'Deliveries' })
    await page
      .getByRole('dialog', { name: 'Merge #1 now?' })
      .getByRole('button', { name: 'Merge', exact: true })
      .click()
    await deliveries.getByText('Merged as').waitFor()
    expect(new URL(page.url()).search).toBe('?panel=changes')
    await shoot(page, 'demonstration-merged')
  })

  it('is said on a Session of an agent that needs one', async () => {
    const { id } = await api.createSession({ title: 'Greet' })
    await page.goto(`${accounts.test.url}/sessions/${id}`)
    await page.getByText('this agent cannot work yet').waitFor()
    await shoot(page, 'session-without-model')
  })

  it('never meets the policy of the page', () => {
    expect(visitor.complaints).toEqual([])
  })
})
