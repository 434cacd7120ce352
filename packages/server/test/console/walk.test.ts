import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startAccounts } from '../support/accounts/accounts.ts'
import { scriptedRuntimes } from '../support/agents/scripted-runtimes.ts'
import { launchChromium } from '../support/browser/chromium.ts'
import { newVisitor, type Visitor } from '../support/browser/visitor.ts'
import { password, personWithPassword } from '../support/console/console-page.ts'
import { pageFaults, shoot } from '../support/console/page-checks.ts'

const stack = new AsyncDisposableStack()
let browser: Browser
let visitor: Visitor
let page: Page
let origin: string
beforeAll(async () => {
  const { runtimes } = stack.use(await scriptedRuntimes())
  const accounts = stack.use(
    await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' }, config: { runtimes } }),
  )
  origin = accounts.test.url
  const person = await personWithPassword(accounts.test.db.database, accounts.test.tenant.organizationId)
  browser = await launchChromium()
  stack.defer(() => browser.close())
  visitor = stack.use(await newVisitor(browser, { scripts: true }))
  page = visitor.page
  await page.goto(`${origin}/sessions`)
  await page.getByLabel('Email').and(page.locator('input')).fill(person.email)
  await page.getByLabel('Password').and(page.locator('input')).fill(password)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: /Welcome/ }).waitFor()
})
afterAll(() => stack.disposeAsync())

const task = [
  'say I will look at `login.test.ts` first.',
  'think The test sleeps for a fixed time, so it is flaky under load.',
  'tools 3',
  'tool npx vitest run login',
  'edit src/login.ts sleep(50) await ready()',
  'say ## Found it\\n\\n- **The cause**: a fixed `sleep(50)`.\\n- <script>document.title="owned"</script> <img src=x onerror=alert(1)>\\n- [a link](javascript:alert(1)) and ![pixel](https://evil.example/p.gif)',
  'present report.md',
  'permission rm -rf build',
  'say Done.',
].join('\n')

describe('a person with a browser', () => {
  it('is welcomed by an empty list', async () => {
    await shoot(page, 'first-run')
    expect(await pageFaults(page)).toEqual([])
  })

  it('starts a Session, and sees what the agent does as text alone', async () => {
    await page.getByRole('link', { name: 'Start the first Session' }).click()
    await page.getByLabel('What should the agent do?').fill(task)
    await page.getByLabel('Agent', { exact: true }).selectOption('scripted')
    await shoot(page, 'first-session')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByRole('button', { name: 'Allow once' }).waitFor()
    await page.getByRole('heading', { name: 'Found it' }).waitFor()
    expect(await page.title()).toMatch(/· Berth$/)
    expect(await page.locator('[role=log] img, [role=log] script').count()).toBe(0)
    expect(await page.locator('[role=log] a[href^="javascript"]').count()).toBe(0)
    await shoot(page, 'approval')
    expect(await pageFaults(page)).toEqual([])
  })

  it('allows from a phone what the agent asks for, and the Run ends', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByRole('button', { name: 'Allow once' }).click()
    await page.getByText('Finished').waitFor()
    await page.getByText('yesDone.').waitFor()
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'report.md' }).click()
    expect((await saved).suggestedFilename()).toBe('report.md')
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.getByRole('button', { name: /steps/ }).first().click()
    await page.getByRole('button', { name: 'src/login.ts' }).first().click()
    await shoot(page, 'session')
    expect(await pageFaults(page)).toEqual([])
  })

  it('answers a question with a click', async () => {
    const schema = { properties: { colour: { type: 'string', enum: ['Red', 'Blue'] } }, required: ['colour'] }
    await page.setViewportSize({ width: 1280, height: 800 })
    await page
      .getByLabel('Message to the agent')
      .fill(`ask ${JSON.stringify({ message: 'Which colour?', requestedSchema: schema })}`)
    await page.keyboard.press('Enter')
    await page.getByLabel('Blue').waitFor()
    await shoot(page, 'question')
    expect(await pageFaults(page)).toEqual([])
    await page.getByLabel('Blue').check({ force: true })
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.getByText('Finished').nth(1).waitFor()
  })

  it('sends a plan back with a comment, and approves the next', async () => {
    const message = page.getByLabel('Message to the agent')
    const comment = page.getByLabel('Comment on the plan')
    const approve = page.getByRole('button', { name: 'Approve the plan' })
    await message.fill('plan 1. Delete **all** tests.')
    await page.keyboard.press('Enter')
    await page.getByText('Delete all tests.').last().waitFor()
    await comment.fill('say I keep the tests.')
    expect(await approve.isDisabled()).toBe(true)
    await shoot(page, 'plan')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Send back' }).click()
    await comment.waitFor({ state: 'detached' })
    await page.getByText('Finished').nth(2).waitFor()
    await message.fill('plan 1. Mend the sleep.')
    await page.keyboard.press('Enter')
    expect(await page.getByRole('button', { name: 'Send back' }).isDisabled()).toBe(true)
    await approve.click()
    await page.getByText('plan: yes').waitFor()
  })

  it('finds the Session in the list, by words and by the keyboard', async () => {
    await page.goto(`${origin}/sessions?q=nothing-like-this`)
    await page.getByText('No Session matches').waitFor()
    await page.getByRole('searchbox').fill('login')
    await page.locator('[data-list-item]').first().waitFor()
    expect(new URL(page.url()).searchParams.get('q')).toBe('login')
    await shoot(page, 'list')
    expect(await pageFaults(page)).toEqual([])
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search Sessions' }).fill('appearance')
    await shoot(page, 'palette')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Appearance' }).waitFor()
    await shoot(page, 'settings')
    expect(await pageFaults(page)).toEqual([])
  })

  it('never met the policy of the page', () => {
    expect(visitor.complaints).toEqual([])
  })

  it('is told about a Session that is not there', async () => {
    await page.goto(`${origin}/sessions/0f8fad5b-d9cb-469f-a165-70867728950e`)
    await page.getByText('No such Session').waitFor()
    await shoot(page, 'not-found')
  })
})
