import { join } from 'node:path'
import { addGrant } from '@berth/server/admin/grants.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { scriptedRuntimes } from '@berth/testing/agents/scripted-runtimes.ts'
import { taskOf } from '@berth/testing/agents/tasks.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { newVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { password } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { fileAt, sampleRepository, tipOf } from '@berth/testing/git/repositories.ts'
import { oneWay } from '@berth/testing/one-way.ts'
import { databaseUrl } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
const email = 'grace@example.test'
let accounts: Accounts
let browser: Browser
let gitDir: string
let origin: string
let desk: Visitor
let phone: Visitor
let page: Page
beforeAll(async () => {
  const { runtimes } = stack.use(await scriptedRuntimes())
  accounts = stack.use(
    await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' }, config: { runtimes } }),
  )
  origin = accounts.test.url
  const { organizationId } = accounts.test.tenant
  gitDir = await sampleRepository(join(accounts.test.dataDir, 'repositories'))
  const variables = { DATABASE_URL: databaseUrl(accounts.test.db), BERTH_DATA_DIR: accounts.test.dataDir }
  await addGrant(variables, { organizationId, host: 'local', repositories: [] })
  browser = await launchChromium()
  stack.defer(() => browser.close())
  desk = stack.use(await newVisitor(browser, { scripts: true }))
  phone = stack.use(await newVisitor(browser, { scripts: true }))
  page = desk.page
})
afterAll(() => stack.disposeAsync())

const server = `require("http").createServer((_, r) => r.setHeader("content-type", "text/html").end("<title>Greeter</title><h1>Bonjour</h1>")).listen(3000)`

const log = () => page.getByRole('log')
const lines = () => page.getByRole('region', { name: 'Changed lines' })
const panel = (name: string) =>
  page.getByRole('navigation', { name: 'Work' }).getByRole('link', { name, exact: true }).click()
const shows = (text: string) => log().getByText(text).last().waitFor()

async function signIn(at: Page): Promise<void> {
  await at.goto(`${origin}/sessions`)
  await at.getByLabel('Password').and(at.locator('input')).waitFor()
  await at.getByLabel('Email').and(at.locator('input')).fill(email)
  await at.getByLabel('Password').and(at.locator('input')).fill(password)
  await at.keyboard.press('Enter')
}

describe('a person’s whole way', () => {
  oneWay()
  it('begins with the link of an invitation, and a password', async () => {
    const { organizationId } = accounts.test.tenant
    const { api } = await accounts.person({ role: 'admin' })
    const path = `/api/organizations/${organizationId}/invitations`
    const invited = await api.call<{ url: string }>('POST', path, { email, role: 'member' })
    await page.goto(invited.body.url)
    await shoot(page, 'way-1-invitation')
    await desk.fill({ Name: 'Grace Hopper', Password: password })
    await page.keyboard.press('Enter')
    await page
      .getByText(/joined|sign in/i)
      .first()
      .waitFor()
    await signIn(page)
    await page.getByRole('heading', { name: /Welcome/ }).waitFor()
    await shoot(page, 'way-2-welcome')
  })

  it('starts an agent on a repository', async () => {
    await page.getByRole('link', { name: 'Start the first Session' }).click()
    await page.getByLabel('What should the agent do?').fill(taskOf('greeter'))
    await page.getByRole('combobox', { name: 'Repository' }).fill('greet')
    await page.getByRole('option', { name: 'sample/greeter' }).click()
    await page.getByLabel('Agent', { exact: true }).selectOption('scripted')
    await shoot(page, 'way-3-new-session')
    await page.getByRole('button', { name: 'Start' }).click()
    await shows('I look at the greeter first.')
  })

  it('answers its question', async () => {
    await page.getByRole('button', { name: 'French' }).waitFor()
    await shoot(page, 'way-4-question')
    await page.getByRole('button', { name: 'French' }).click()
    await page.getByRole('button', { name: 'Allow once' }).waitFor()
  })

  it('allows from a phone what it asks for', async () => {
    await phone.page.setViewportSize({ width: 390, height: 844 })
    await signIn(phone.page)
    await phone.page.locator('[data-list-item]').first().click()
    await phone.page.getByText('npm test -- --update').last().waitFor()
    await shoot(phone.page, 'way-5-approval')
    await phone.page.setViewportSize({ width: 390, height: 844 })
    expect(await pageFaults(phone.page)).toEqual([])
    await phone.page.setViewportSize({ width: 390, height: 844 })
    await phone.page.getByRole('button', { name: 'Allow once' }).click()
    await phone.page.getByRole('button', { name: 'Allow once' }).waitFor({ state: 'detached' })
    await shows('I wrote the greetings.')
  })

  it('sees the changes while the agent is at work', async () => {
    await page.getByRole('link', { name: 'Show the work' }).click()
    await lines().getByText('Bonsoir').waitFor()
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    await shoot(page, 'way-6-changes')
  })

  it('types in a terminal beside it', async () => {
    await panel('Terminal')
    await page.getByRole('button', { name: 'Open a terminal' }).click()
    await page.getByRole('status').getByText('Connected').waitFor()
    await page.keyboard.type(
      `clear; cd /workspace/project; cat greetings.txt; git status --short; node -e '${server}' &\n`,
    )
    const shown = async () => (await page.locator('.xterm-rows').textContent()) ?? ''
    await until('the file', async () => /Bonjour[\s\S]*Bonsoir/.test(await shown()))
    await shoot(page, 'way-7-terminal')
  })

  it('opens what listens on a port', async () => {
    await panel('Preview')
    await page.getByRole('button', { name: 'Open port 3000' }).waitFor()
    await shoot(page, 'way-8-preview')
    const opening = desk.context.waitForEvent('page')
    await page.getByRole('button', { name: 'Open port 3000' }).click()
    const preview = await opening
    await preview.getByRole('heading', { name: 'Bonjour' }).waitFor()
    expect(new URL(preview.url()).hostname).toMatch(/^3000-[a-z2-7]{20}\.localhost$/)
    await preview.close()
  })

  it('lets the agent end, and sends it a comment on a line', async () => {
    await panel('Terminal')
    await page.getByRole('status').getByText('Connected').waitFor()
    await page.getByRole('textbox', { name: 'Terminal input' }).focus()
    await page.keyboard.type('touch /workspace/seen\n')
    await log().getByText('Finished').waitFor()
    await panel('Changes')
    await lines().getByRole('button', { name: 'Comment on line 2', exact: true }).click({ force: true })
    await page.getByLabel('Comment on line 2 of greetings.txt').fill('write greetings.txt Bonjour\\nBonne nuit\\n')
    await shoot(page, 'way-9-remark')
    await page.getByRole('button', { name: 'Send to the agent' }).click()
    await log().getByText('Finished').nth(1).waitFor()
    await lines().getByText('Bonne nuit').first().waitFor()
  })

  it('publishes exactly what is on screen', async () => {
    await page.getByRole('link', { name: 'Review in full width' }).click()
    await lines().getByText('Bonne nuit').first().waitFor()
    await shoot(page, 'way-10-review')
    await page.getByRole('button', { name: 'Publish…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Title').fill('Greet in French')
    await shoot(page, 'way-11-publish')
    await dialog.getByRole('button', { name: 'Open the pull request' }).click()
    await dialog.getByText('Published as pull request #1.').waitFor()
    await dialog.getByRole('button', { name: 'Done' }).click()
  })

  it('merges it, and finds it merged', async () => {
    const deliveries = page.getByRole('list', { name: 'Deliveries' })
    await deliveries.getByRole('button', { name: 'Merge…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Merge #1 now?' })
    await dialog.getByText('squash and merge').waitFor()
    await dialog.getByRole('button', { name: 'Merge', exact: true }).click()
    await deliveries.getByText('Merged as').waitFor()
    await deliveries.getByRole('link', { name: '#1' }).click()
    await page.getByRole('heading', { name: '#1 Greet in French' }).waitFor()
    await page.getByText('Merged as').waitFor()
    await shoot(page, 'way-12-merged')
    expect(await fileAt(gitDir, await tipOf(gitDir, 'main'), 'greetings.txt')).toBe('Bonjour\nBonne nuit')
  })

  it('never meets the policy of the page', () => {
    expect([...desk.complaints, ...phone.complaints]).toEqual([])
  })
})
