import { join } from 'node:path'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { newVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { gitHostConfig } from '@berth/testing/git/git-host-config.ts'
import { GitHubServer } from '@berth/testing/git/github-server.ts'
import { sampleRepository } from '@berth/testing/git/repositories.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let github: GitHubServer
let browser: Browser
let admin: Visitor
let member: Visitor
let page: Page
let theirs: Page
beforeAll(async () => {
  github = stack.use(await GitHubServer.start())
  accounts = stack.use(await startAccounts({ config: { gitHosts: [gitHostConfig(github)] } }))
  const gitDir = await sampleRepository(join(accounts.test.dataDir, 'served'), 'acme/shop')
  github.addRepository({ id: 71, fullName: 'acme/shop', gitDir, installations: ['71'] })
  github.people.install(71, 'acme', 'Organization', ['ada', 'bob'])
  github.people.install(73, 'globex', 'Organization', ['ada'])
  github.people.install(72, 'ada', 'User', ['ada']).selection = 'selected'
  github.people.roles.set('acme/ada', { state: 'active', role: 'admin' })
  github.people.roles.set('globex/ada', { state: 'active', role: 'member' })
  github.people.person('bob')
  browser = await launchChromium()
  stack.defer(() => browser.close())
  const at = async (role: 'admin' | 'member', path: string) => {
    const person = await personWithPassword(accounts.test.db.database, accounts.test.tenant.organizationId, { role })
    const visitor = stack.use(await newVisitor(browser, { scripts: true }))
    await openSignedIn(visitor.page, `${accounts.test.url}${path}`, person)
    return visitor
  }
  admin = await at('admin', '/organization/git')
  member = await at('member', '/settings')
  page = admin.page
  theirs = member.page
})
afterAll(() => stack.disposeAsync())

describe('an administrator without an operator', () => {
  it('shows at the host who they are, and comes back to the same dialog', async () => {
    await page.getByRole('heading', { name: 'No account is connected' }).waitFor()
    await shoot(page, 'git-another')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Connect an account' }).click()
    await page.getByRole('button', { name: /^Continue with GitHub/ }).waitFor()
    await shoot(page, 'git-prove')
    expect(await pageFaults(page)).toEqual([])
    github.people.signedIn = 'ada'
    await page.getByRole('button', { name: /^Continue with GitHub/ }).click()
    await page.getByRole('list', { name: 'Accounts' }).getByText('globex').waitFor()
    expect(page.url()).toBe(`${accounts.test.url}/organization/git?dialog=choose`)
  })

  it('connects only what they administer, and is told why not the rest', async () => {
    await shoot(page, 'git-choose')
    expect(await pageFaults(page)).toEqual([])
    const foreign = page.getByRole('button', { name: 'Connect globex' })
    expect(await foreign.getAttribute('aria-disabled')).toBe('true')
    await foreign.focus()
    await page.getByText('does not say that you administer it').first().waitFor()
    await page.getByText('Ask people for access of their own').click()
    await page.getByRole('button', { name: 'Connect acme' }).click()
    await page.getByRole('list', { name: 'Repositories of acme' }).getByText('acme/shop').waitFor()
    await page.getByText('With access of their own').waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await shoot(page, 'git-connected')
    expect(await pageFaults(page)).toEqual([])
  })
})

describe('a person whose repository asks for an account of their own', () => {
  it('is told where to connect one, and comes back to what they had entered', async () => {
    await theirs.goto(`${accounts.test.url}/sessions/new`)
    await theirs.getByRole('combobox', { name: 'Repository' }).click()
    await theirs.getByRole('option', { name: 'acme/shop' }).click()
    await theirs.getByLabel('What should the agent do?').fill('Mend the till.')
    await theirs.getByRole('button', { name: /^Start/ }).click()
    await theirs.getByText('asks for an account of your own').first().waitFor()
    await shoot(theirs, 'git-new-session')
    expect(await pageFaults(theirs)).toEqual([])
    await theirs.getByRole('link', { name: 'Git accounts' }).first().click()
    await theirs.getByRole('button', { name: 'Connect your account' }).waitFor()
    await shoot(theirs, 'git-accounts-none')
    expect(await pageFaults(theirs)).toEqual([])
  })

  it('may refuse at the host, and is shown the way back', async () => {
    github.people.signedIn = null
    await theirs.getByRole('button', { name: 'Connect your account' }).click()
    await theirs.getByRole('heading', { name: 'Nothing was connected' }).waitFor()
    await shoot(theirs, 'git-refused')
    expect(await pageFaults(theirs)).toEqual([])
    await theirs.goto(`${accounts.test.url}/settings/git`)
    await theirs.goto(`${accounts.test.url}/settings/git-connected#state=forged&code=guessed`)
    await theirs.getByText('Your account was not connected').waitFor()
    expect(await pageFaults(theirs)).toEqual([])
  })

  it('connects it, and starts the Session', async () => {
    github.people.signedIn = 'bob'
    github.people.rights.set('bob/71', { push: true, pull: true })
    await theirs.goto(`${accounts.test.url}/settings/git?back=/sessions/new`)
    await theirs.getByRole('button', { name: 'Connect your account' }).click()
    await theirs.waitForURL(`${accounts.test.url}/sessions/new`)
    await theirs.getByRole('button', { name: /^Start/ }).click()
    await theirs.waitForURL(/\/sessions\/[0-9a-f-]{36}$/)
    await theirs.goto(`${accounts.test.url}/settings/git`)
    await theirs.getByRole('list', { name: 'Git accounts' }).getByText('bob').waitFor()
    await shoot(theirs, 'git-accounts')
    expect(await pageFaults(theirs)).toEqual([])
    await theirs.getByRole('button', { name: 'Disconnect bob' }).click()
    await theirs.getByRole('button', { name: 'Connect your account' }).waitFor()
    expect(github.people.revoked.length).toBe(1)
  })
})

it('never met the policy of the page', () => {
  expect([...admin.complaints, ...member.complaints]).toEqual([])
})
