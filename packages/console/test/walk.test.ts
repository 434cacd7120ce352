import { startAccounts } from '@berth/testing/accounts/accounts.ts'
import { scriptedRuntimes } from '@berth/testing/agents/scripted-runtimes.ts'
import { taskOf } from '@berth/testing/agents/tasks.ts'
import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { oneWay } from '@berth/testing/one-way.ts'
import { until } from '@berth/testing/until.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
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
  visitor = await openVisitor(stack)
  page = visitor.page
  await openSignedIn(page, `${origin}/sessions`, person)
  await page.getByRole('heading', { name: /Welcome/ }).waitFor()
})
afterAll(() => stack.disposeAsync())

describe('a person with a browser', () => {
  oneWay()
  it('is welcomed by an empty list', async () => {
    await shoot(page, 'first-run')
    expect(await pageFaults(page)).toEqual([])
  })

  it('starts a Session, and sees what the agent does', async () => {
    await page.getByRole('link', { name: 'Start the first Session' }).click()
    await page.getByLabel('What should the agent do?').fill(taskOf('login'))
    await page.getByLabel('Agent', { exact: true }).selectOption('scripted')
    await shoot(page, 'first-session')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByRole('button', { name: 'Allow once' }).waitFor()
    await page.getByRole('heading', { name: 'Found it' }).waitFor()
    await page.locator('[aria-keyshortcuts=a]').waitFor()
    await shoot(page, 'approval')
    expect(await pageFaults(page)).toEqual([])
  })

  it('allows from a phone what the agent asks for, and the Run ends', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByRole('button', { name: 'Allow once' }).click()
    await page.getByText('Finished').waitFor()
    await page.getByText('Done: the build is clean').waitFor()
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'report.md' }).click()
    expect((await saved).suggestedFilename()).toBe('report.md')
    await page.setViewportSize({ width: 1280, height: 800 })
    await page
      .getByRole('button', { name: /^Ran \d+ commands/ })
      .first()
      .click()
    await page.getByRole('button', { name: 'src/login.ts' }).first().click()
    await shoot(page, 'session')
    expect(await pageFaults(page)).toEqual([])
  })

  it('answers a question with a click', async () => {
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.getByLabel('Message to the agent').fill(taskOf('badge'))
    await page.keyboard.press('Enter')
    const blue = page.getByRole('button', { name: 'Blue' })
    await blue.waitFor()
    await shoot(page, 'question')
    expect(await pageFaults(page)).toEqual([])
    await blue.click()
    await page.getByText('Finished').nth(1).waitFor()
  })

  it('says in the message box what to change in a plan, and approves the next', async () => {
    const message = page.getByLabel('Message to the agent')
    const change = page.getByLabel('Changes to the plan')
    const approve = page.getByRole('button', { name: 'Approve the plan' })
    await message.fill(taskOf('plan'))
    await page.keyboard.press('Enter')
    await page.getByText('Delete the slow tests.').last().waitFor()
    await change.fill(taskOf('keep'))
    await shoot(page, 'plan')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Ask for changes' }).click()
    await change.waitFor({ state: 'detached' })
    await page.getByText('Finished').nth(2).waitFor()
    await message.fill(taskOf('replan'))
    await page.keyboard.press('Enter')
    await approve.click()
    await page.getByText('The tests take 4 s now').waitFor()
  })

  it('fills in forms that have fields of every kind', async () => {
    const titled = (...titles: string[]) => titles.map(title => ({ const: title.slice(0, 1), title }))
    const berth = { header: 'Channel', recommendedIndex: 1, customFieldId: 'other' }
    const release = {
      channel: { type: 'string', oneOf: titled('Stable', 'Next'), _meta: { berth } },
      targets: { type: 'array', items: { anyOf: titled('Linux', 'macOS', 'Windows') }, maxItems: 2 },
      draft: { type: 'boolean', title: 'As a draft?', default: true },
      copies: { type: 'integer', title: 'How many copies?', minimum: 1, maximum: 5 },
    }
    const [email, date, time, uri] = ['email', 'date', 'date-time', 'uri'].map(format => ({ type: 'string', format }))
    const rest = {
      name: { type: 'string', minLength: 2, maxLength: 9, pattern: '^[A-Z]', default: 'Ada' },
      ratio: { type: 'number', minimum: 0.5, maximum: 1.5 },
      note: { type: 'string' },
    }
    const forms = [
      { message: 'How shall I release it?', requestedSchema: { properties: release, required: ['channel', 'copies'] } },
      { message: 'Who hears of it?', requestedSchema: { properties: { email, date, time, uri }, required: ['email'] } },
      { message: 'And the rest?', requestedSchema: { properties: rest } },
    ]
    const dock = page.getByRole('region', { name: 'Waiting for you' })
    const field = (name: string | RegExp) => dock.getByRole('group', { name })
    const entry = (name: string) => field(new RegExp(`\\b${name}`)).getByRole('textbox')
    const shows = (text: string) => dock.getByText(text).waitFor()
    const answer = () => dock.getByRole('button', { name: 'Answer' }).click()
    /** Answers, and returns the agent's input for the form that has this field. */
    const given = async (name: string) => {
      await answer()
      return until('the answer', async () => {
        const shows = await page.getByRole('log').innerText()
        const contents = [...shows.matchAll(/"action":"accept","content":(\{[^}]*\})/g)].map(([, json = '']) => json)
        const found = contents.findLast(json => json.includes(`"${name}":`))
        return found !== undefined && JSON.parse(found)
      })
    }
    await page.getByLabel('Message to the agent').fill(forms.map(form => `ask ${JSON.stringify(form)}`).join('\n'))
    await page.keyboard.press('Enter')
    await shows('How shall I release it?')
    await field(/Channel/)
      .getByText('recommended')
      .waitFor()
    expect(await field('As a draft?').getByLabel('Yes').isChecked()).toBe(true)
    await answer()
    expect(await dock.getByText('An answer is required.').count()).toBe(2)
    await shoot(page, 'form')
    expect(await pageFaults(page)).toEqual([])
    await field(/Channel/)
      .getByLabel('Stable')
      .check()
    await field(/Channel/)
      .getByLabel('Another answer')
      .fill('nightly')
    expect(
      await field(/Channel/)
        .getByLabel('Stable')
        .isChecked(),
    ).toBe(false)
    for (const target of ['Linux', 'macOS', 'Windows']) await field('targets').getByLabel(target).check()
    await shows('Choose at most 2.')
    await field('targets').getByLabel('macOS').uncheck()
    await field('As a draft?').getByLabel('No').check()
    for (const [text, fault] of [
      ['many', 'Enter a number.'],
      ['2.5', 'Enter a whole number.'],
      ['0', 'Enter at least 1.'],
      ['6', 'Enter at most 5.'],
    ] as const) {
      await entry('How many').fill(text)
      await shows(fault)
    }
    await entry('How many').fill('3')
    expect(await given('copies')).toEqual({ other: 'nightly', targets: ['L', 'W'], draft: false, copies: 3 })

    await shows('Who hears of it?')
    await entry('email').fill('nobody')
    await field('date').locator('input[type=date]').fill('2026-12-24')
    await entry('time').fill('2026-12-24T18:00:00Z')
    await entry('uri').fill('https://example.test/news')
    await answer()
    await shows('is not a valid email')
    await entry('email').fill('ada@example.test')
    const heard = { email: 'ada@example.test', date: '2026-12-24', time: '2026-12-24T18:00:00Z' }
    expect(await given('uri')).toEqual({ ...heard, uri: 'https://example.test/news' })

    await shows('And the rest?')
    expect(await entry('name').inputValue()).toBe('Ada')
    await entry('name').fill('A')
    await entry('ratio').fill('0.75')
    await answer()
    await shows('Enter at least 2 characters.')
    await entry('name').fill('grace')
    await answer()
    await shows('does not match ^[A-Z]')
    await entry('name').fill('Grace')
    expect(await given('ratio')).toEqual({ name: 'Grace', ratio: 0.75 })
  })

  it('sees what an agent says as text alone', async () => {
    const lines = [
      ...['<script>document.title="owned"</script> <img src=x onerror=alert(1)>'],
      ...['[a link](javascript:alert(1)) and ![pixel](https://evil.example/p.gif)'],
    ]
    await page.getByLabel('Message to the agent').fill(`say ${lines.join('\\n\\n')}\nsay \\n\\nThat was all.`)
    await page.keyboard.press('Enter')
    await page.getByText('That was all.', { exact: true }).waitFor()
    expect(await page.title()).toMatch(/· Berth$/)
    expect(await page.locator('[role=log] img, [role=log] script').count()).toBe(0)
    expect(await page.locator('[role=log] a[href^="javascript"]').count()).toBe(0)
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
