import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { password, personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { GitHubServer } from '@berth/testing/git/github-server.ts'
import { grantRepository } from '@berth/testing/git/grants.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let visitor: Visitor
let page: Page
let admin: Awaited<ReturnType<typeof personWithPassword>>
beforeAll(async () => {
  const { url: baseUrl, appId, privateKey } = stack.use(await GitHubServer.start())
  accounts = stack.use(await startAccounts({ config: { gitHosts: [{ kind: 'github', baseUrl, appId, privateKey }] } }))
  const db = accounts.test.db.database
  const { tenant } = accounts.test
  const account = { host: 'local', provider: 'local', account: tenant.organizationId, accountLogin: 'acme' } as const
  await grantRepository(db, tenant, account, { repositoryId: '7', fullName: 'acme/shop' })
  await grantRepository(db, tenant, account, { repositoryId: '8', fullName: 'acme/site' })
  admin = await personWithPassword(db, tenant.organizationId, { role: 'admin' })
  visitor = await openVisitor(stack)
  page = visitor.page
  await openSignedIn(page, `${accounts.test.url}/organization/git`, admin)
  await page.getByRole('heading', { level: 1, name: 'Git hosts' }).waitFor()
})
afterAll(() => stack.disposeAsync())

describe('an administrator who connects Git hosts', () => {
  it('learns what nobody is connected to, and what apps reach already', async () => {
    await page.getByRole('heading', { name: 'No account is connected' }).waitFor()
    await page.getByText(`--organization ${accounts.test.tenant.organizationId}`).waitFor()
    await shoot(page, 'git-empty')
    expect(await pageFaults(page)).toEqual([])
  })

  it('proves who they are once more if the sign-in is old, and goes on in the same dialog', async () => {
    await accounts.test.db.database.query(`update console_sessions set signed_in_at = now() - interval '1 hour'`)
    await page.getByRole('button', { name: 'Connect acme' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Connect' }).click()
    await page.getByRole('button', { name: 'Sign in again' }).click()
    const [email, secret] = ['Email', 'Password'].map(label => page.getByLabel(label).and(page.locator('input')))
    await secret?.waitFor()
    if (((await email?.count()) ?? 0) > 0) await email?.fill(admin.email)
    await secret?.fill(password)
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Connect acme?' }).getByRole('button', { name: 'Connect' }).click()
    await page.getByRole('list', { name: 'Repositories of acme' }).getByText('acme/shop').waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await page.getByRole('region', { name: 'Within reach' }).count()).toBe(0)
    await page.locator(':focus').blur()
    await shoot(page, 'git')
    expect(await pageFaults(page)).toEqual([])
  })

  it('ends a connection after being told what stops', async () => {
    await page.getByRole('button', { name: 'Disconnect acme' }).click()
    await page.getByRole('dialog').getByText('cannot publish').waitFor()
    await shoot(page, 'git-disconnect')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click()
    await page.getByRole('button', { name: 'Connect acme' }).waitFor()
  })

  it('chooses whom commits name', async () => {
    const form = page.getByRole('form', { name: 'Commits' })
    await form.getByText('Berth <berth@localhost>').waitFor()
    await form.getByText('commits are not signed').waitFor()
    expect(await form.getByRole('button', { name: 'Save' }).getAttribute('aria-disabled')).toBe('true')
    await form.getByLabel('Author', { exact: true }).selectOption('app')
    await form.getByLabel('Sign off').check()
    await form.getByRole('button', { name: 'Save' }).click()
    await form.getByText('Saved.').waitFor()
    await form.scrollIntoViewIfNeeded()
    await shoot(page, 'git-commits')
    expect(await pageFaults(page)).toEqual([])
    await page.reload()
    await form.waitFor()
    expect(await form.getByLabel('Author', { exact: true }).inputValue()).toBe('app')
    expect(await form.getByLabel('Sign off').isChecked()).toBe(true)
  })

  it('chooses who signs commits, and that GitHub names the app alone', async () => {
    const form = page.getByRole('form', { name: 'Commits' })
    await form.getByLabel('Author', { exact: true }).selectOption('person')
    await form.getByLabel('Signed by').selectOption('host')
    const author = form.getByLabel('Author', { exact: true })
    expect([await author.inputValue(), await author.isDisabled()]).toEqual(['app', true])
    await form.getByText('GitHub is the committer').waitFor()
    await form.getByRole('button', { name: 'Save' }).click()
    await form.getByText('Saved.').waitFor()
    await shoot(page, 'git-commits-by-host')
    expect(await pageFaults(page)).toEqual([])
    await page.reload()
    await form.waitFor()
    expect(await form.getByLabel('Signed by').inputValue()).toBe('host')
    // The choice of an author is there again with the deployment's own commits.
    await form.getByLabel('Signed by').selectOption('deployment')
    expect([await author.inputValue(), await author.isDisabled()]).toEqual(['person', false])
  })

  it('chooses what stops a follow-up, and is refused what the service would refuse', async () => {
    const form = page.getByRole('form', { name: 'Pull requests that are followed' })
    const save = form.getByRole('button', { name: 'Save' })
    expect(await save.getAttribute('aria-disabled')).toBe('true')
    await form.getByLabel('Base ahead by').fill('many')
    await form.getByText('A whole number from 1 to 10,000.').waitFor()
    expect(await save.getAttribute('aria-disabled')).toBe('true')
    await form.getByLabel('Base ahead by').fill('20')
    await form.getByLabel('Label').fill('agent')
    await save.click()
    await form.getByText('Saved.').waitFor()
    await form.scrollIntoViewIfNeeded()
    await shoot(page, 'git-follow-ups')
    expect(await pageFaults(page)).toEqual([])
    await page.reload()
    await form.waitFor()
    const values = ['Label', 'Assignee', 'Base ahead by'].map(label => form.getByLabel(label).inputValue())
    expect(await Promise.all(values)).toEqual(['agent', '', '20'])
    await form.getByLabel('Label').fill('')
    await save.click()
    await form.getByText('Saved.').waitFor()
    await page.goto(`${accounts.test.url}/organization/audit?action=organization.follow_ups_changed`)
    await expect.poll(() => page.getByRole('list', { name: 'Entries' }).getByRole('listitem').count()).toBe(2)
  })

  it('finds both in the audit log', async () => {
    await page.goto(`${accounts.test.url}/organization/audit?action=connection`)
    const entries = page.getByRole('list', { name: 'Entries' }).getByRole('listitem')
    await entries.filter({ hasText: 'Connection removed' }).waitFor()
    await entries.filter({ hasText: 'Connection added' }).waitFor()
  })
})

it('never met the policy of the page', () => {
  expect(visitor.complaints).toEqual([])
})
