import type { FollowUp } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { sessionOnRepository } from '@berth/testing/console/reviewed-session.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import type { Delivering } from '@berth/testing/git/delivering.ts'
import { until } from '@berth/testing/until.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let visitor: Visitor
let page: Page
let at: Delivering
let publicationId: string
beforeAll(async () => {
  accounts = stack.use(await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } }))
  const { test } = accounts
  at = await sessionOnRepository(test, 'sample/followed')
  await at.shell('echo more >> README.md')
  publicationId = (await at.publish({ title: 'Say more' })).id
  const { email } = await personWithPassword(test.db.database, test.tenant.organizationId, { role: 'admin' })
  visitor = await openVisitor(stack)
  page = visitor.page
  await openSignedIn(page, `${test.url}/pull-requests`, { email })
})
afterAll(() => stack.disposeAsync())

const row = () => page.getByRole('listitem').filter({ hasText: 'Say more' })
const thread = () => page.getByRole('region', { name: 'Follow-up of #1' })
const followUp = async () =>
  (await accounts.test.api.get<{ followUp?: FollowUp }>(at.path(`/publications/${publicationId}/follow-up`))).body
    .followUp

describe('the list of pull requests', () => {
  it('has only the person’s own, unless somebody wants everyone’s', async () => {
    await page.getByRole('heading', { name: 'None of them is yours' }).waitFor()
    await page.getByRole('link', { name: 'Show everyone’s' }).click()
    await row().getByText('sample/followed').first().waitFor()
    await shoot(page, 'pull-requests-unfollowed')
    expect(await pageFaults(page)).toEqual([])
  })

  it('begins a follow-up within bounds, by keys alone', async () => {
    await page.keyboard.press('j')
    await page.keyboard.press('r')
    const dialog = page.getByRole('dialog', { name: 'Follow #1 until it is merged' })
    await dialog.getByLabel('Attempts').fill('21')
    await dialog.getByText('Needs a whole number from 1 to 20.').waitFor()
    expect(await dialog.getByRole('button', { name: 'Follow it' }).isDisabled()).toBe(true)
    await dialog.getByLabel('Attempts').fill('3')
    await dialog.getByLabel('Budget in US dollars').fill('2.5')
    await dialog.getByLabel('A base branch that moves on').uncheck()
    await shoot(page, 'follow-up-bounds')
    expect(await pageFaults(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Follow it' }).click()
    await row().getByText('0 of 3 attempts').waitFor()
    expect(await followUp()).toMatchObject({
      maxAttempts: 3,
      budgetUsd: 2.5,
      merge: 'never',
      on: ['checks', 'reviews', 'conflicts'],
    })
    await shoot(page, 'pull-requests')
    expect(await pageFaults(page)).toEqual([])
  })
})

describe('the thread of a pull request in its Session', () => {
  it('says what is done for it, within which bounds, and stops', async () => {
    await row().getByRole('link', { name: 'Say more' }).click()
    await thread().getByText('0 of 3 attempts').waitFor()
    await thread().getByText('$0.00 of $2.50').waitFor()
    await shoot(page, 'follow-up')
    expect(await pageFaults(page)).toEqual([])
    await thread().getByRole('button', { name: 'Stop' }).click()
    await thread().getByText('no longer followed').waitFor()
    await until('the stop', async () => (await followUp())?.state === 'stopped')
  })

  it('is resumed by whoever tries again', async () => {
    await thread().getByRole('button', { name: 'Try again…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Try again with #1' })
    await dialog.getByLabel('Merge it when it is ready').check()
    await dialog.getByRole('button', { name: 'Try again' }).click()
    await thread().getByText('merges when ready').waitFor()
    expect((await followUp())?.merge).toBe('when_ready')
  })

  it('is nobody’s of another organization', async () => {
    const { api } = await accounts.test.newTenant()
    const { body } = await api.get<{ pullRequests: readonly object[] }>('/v1/pull-requests')
    expect(body.pullRequests).toEqual([])
  })

  it('never meets the policy of the page', () => {
    expect(visitor.complaints).toEqual([])
  })
})
