import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { sessionOnRepository } from '@berth/testing/console/reviewed-session.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import type { Delivering } from '@berth/testing/git/delivering.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let visitor: Visitor
let page: Page
let at: Delivering
beforeAll(async () => {
  accounts = stack.use(await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } }))
  at = await sessionOnRepository(accounts.test, 'sample/revised')
  visitor = await openVisitor(stack)
  page = visitor.page
  const person = await personWithPassword(accounts.test.db.database, accounts.test.tenant.organizationId)
  await openSignedIn(page, `${accounts.test.url}/sessions/${at.session.id}`, person)
})
afterAll(() => stack.disposeAsync())

const counts = '1 file +2 −0'
const header = () => page.getByRole('banner').or(page.locator('header')).first()

describe('a Run that changed files', () => {
  it('says so at its end and in the header, while somebody looks on', async () => {
    await page.getByText('Finished').first().waitFor()
    expect(await page.getByText(counts).count()).toBe(0)
    await at.shell('printf "a\\nb\\n" > new.txt')
    await page.getByRole('button', { name: 'Create pull request' }).waitFor()
    expect(await page.getByText(counts).count()).toBe(2)
    await shoot(page, 'run-revision')
    expect(await pageFaults(page)).toEqual([])
    await header().getByText(counts).click()
    await page.getByRole('region', { name: 'Changed lines' }).getByText('new.txt').first().waitFor()
  })

  it('is read and published after its sandbox was released, which comes back by itself', async () => {
    expect((await accounts.test.api.call('DELETE', at.path('/workspace'))).status).toBe(204)
    await page.goto(`${accounts.test.url}/sessions/${at.session.id}/review`)
    await page.getByText('as the last Run left them').waitFor()
    await page.getByRole('region', { name: 'Changed lines' }).getByText('new.txt').first().waitFor()
    await shoot(page, 'run-revision-released')
    expect(await pageFaults(page)).toEqual([])
    expect((await accounts.test.api.session(at.session.id)).workspace.state).toBe('expired')
    await page.goto(`${accounts.test.url}/sessions?everyone=true`)
    await page.getByRole('listitem').filter({ hasText: counts }).waitFor()
    await shoot(page, 'run-revision-list')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('link', { name: 'Mend the greeting' }).first().click()
    await page.getByRole('button', { name: 'Create pull request' }).click()
    await page.getByRole('button', { name: 'Open the pull request' }).click()
    await page.getByText('Published as pull request #1.').waitFor()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('button', { name: 'Create pull request' }).waitFor({ state: 'detached' })
    await shoot(page, 'run-revision-published')
  })

  it('never meets the policy of the page', () => {
    expect(visitor.complaints).toEqual([])
  })
})
