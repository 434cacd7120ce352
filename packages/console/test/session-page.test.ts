import { randomUUID } from 'node:crypto'
import type { Interaction, Session, TurnPage } from '@berth/contract'
import { appendEvents } from '@berth/core/sessions/log/append.ts'
import { writePreview } from '@berth/core/sessions/previews/preview-sql.ts'
import { announce, topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { scriptedRuntimes } from '@berth/testing/agents/scripted-runtimes.ts'
import { scriptOf, taskOf } from '@berth/testing/agents/tasks.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { newVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { spend } from '@berth/testing/console/usage-rows.ts'
import { until } from '@berth/testing/until.ts'
import { touch } from '@berth/testing/workspaces/workspace.ts'
import type { Browser, Page, Request } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
/** A colleague, who uses a terminal. */
let colleague: Api
let browser: Browser
let visitor: Visitor
let page: Page
beforeAll(async () => {
  const { runtimes } = stack.use(await scriptedRuntimes())
  const variables = { BERTH_ROLES: 'api,account,gateway,worker' }
  accounts = stack.use(await startAccounts({ variables, config: { runtimes } }))
  const { test } = accounts
  const person = await personWithPassword(test.db.database, test.tenant.organizationId)
  colleague = (await accounts.person({})).api
  browser = await launchChromium()
  stack.defer(() => browser.close())
  visitor = stack.use(await newVisitor(browser, { scripts: true }))
  page = visitor.page
  await visitor.context.grantPermissions(['clipboard-write'])
  await openSignedIn(page, `${test.url}/sessions`, person)
  await page.getByRole('heading', { name: /Welcome/ }).waitFor()
})
afterAll(() => stack.disposeAsync())

/** Titles of the other Sessions in pictures. */
const titles = [
  'Speed up the nightly build',
  'Mend the flaky upload test',
  'Deploy the staging site',
  'Tidy the README',
]
const why = { properties: { why: { type: 'string', title: 'Why?' } }, required: ['why'] }
let opened = 0
/** Opens a new Session, whose first Run follows a script. */
async function open(...script: readonly string[]): Promise<Session> {
  const isTask = script.length === 1 && scriptOf(script[0] ?? '') !== script[0]
  const title = titles[opened++ % titles.length] ?? ''
  const session = await colleague.createSession({ runtime: 'scripted', ...(!isTask && { title }) }, script.join('\n'))
  await page.goto(`${accounts.test.url}/sessions/${session.id}`)
  return session
}
const release = (session: Session, name: string) =>
  touch(accounts.test.db.database, accounts.test.dataDir, session, name)
const box = () => page.getByLabel('Message to the agent')
const shown = (text: string | RegExp) => page.getByText(text).first().waitFor()
const log = () => page.getByRole('log')
/** Waits until a key presses a button, which it does only once people had time to read. */
const keyed = (name: string) => page.locator('button[aria-keyshortcuts]', { hasText: name }).waitFor()
/** Answers the open question or plan of a Session in the place of the person at the page. */
async function answerElsewhere({ id }: Session): Promise<void> {
  const { interactions } = (await colleague.get<{ interactions: Interaction[] }>(`/v1/sessions/${id}/interactions`))
    .body
  const reply = { message: 'approve', replyTo: { interactionId: interactions[0]?.id } }
  expect(await colleague.put(`/v1/sessions/${id}/turns/${randomUUID()}`, reply)).toMatchObject({ status: 202 })
}
/** Returns how many animations and transitions run in the page. */
const animations = () => page.evaluate<number>('document.getAnimations().length')

describe('the page of a Session', () => {
  it('shows what the agent says while it says it', async () => {
    const session = await open('say The tests ', 'wait one', 'say pass again.')
    // The message has not ended, so the log does not have it yet.
    await log().getByText('The tests', { exact: true }).waitFor()
    await shoot(page, 'session-live')
    // Whoever asked for less motion sees none, although the same page moves for others.
    await page.emulateMedia({ reducedMotion: 'no-preference' })
    await expect.poll(() => animations()).toBeGreaterThan(0)
    await page.emulateMedia({ reducedMotion: 'reduce' })
    await expect.poll(() => animations()).toBe(0)
    await release(session, 'one')
    await log().getByText('The tests pass again.').waitFor()
    expect(await log().getByText('The tests', { exact: true }).count()).toBe(0)
  })

  it('shows how long a step of the start takes by now, and how far it has come', async () => {
    const session = await open('say First.', 'wait one')
    await log().getByText('First.', { exact: true }).waitFor()
    const { organizationId, id: sessionId, activeRunId: runId = '' } = session
    const { database: db } = accounts.test.db
    const of = { stepId: 's', step: 'fetch_repository', title: 'Fetching the repository' }
    const started = [{ type: 'svc.workspace.progress', runId, data: { ...of, status: 'started' } }] as const
    const key = { organizationId, sessionId }
    await db.transaction(tx => appendEvents(tx, key, started, new Date(Date.now() - 7_000)))
    const progress = { unit: 'objects', done: 43_000, total: 100_000, bytes: 12_900_000 }
    const preview = JSON.stringify({ activities: [], steps: [{ ...of, progress }] })
    await until('a watch', () => writePreview(db, key, runId, preview, new Date()))
    await announce(db, topics.preview(organizationId, sessionId), topics.session(organizationId, sessionId))
    await log().getByText('43% of 100,000 objects, 12.3 MiB').waitFor()
    expect(await log().getByRole('timer').textContent()).toMatch(/^\d+ s$/)
    await shoot(page, 'session-step')
    expect(await pageFaults(page)).toEqual([])
    await release(session, 'one')
  })

  it('keeps a message until the agent has finished, and sends it then', async () => {
    const session = await open('say First.', 'wait one')
    await log().getByText('First.', { exact: true }).waitFor()
    await box().fill('say Second.')
    await page.keyboard.press('Enter')
    const card = page.getByRole('article', { name: 'The next message' })
    await card.getByText('is sent when the agent has finished').waitFor()
    // The page may have read of the message before the answer to its own request.
    await expect.poll(() => box().inputValue()).toBe('')
    await box().fill('say Third.')
    await page.keyboard.press('Enter')
    await card.getByText('say Third.').waitFor()
    await expect.poll(() => box().inputValue()).toBe('')
    await shoot(page, 'session-queued')
    expect(await pageFaults(page)).toEqual([])
    await card.getByRole('button', { name: 'Edit' }).click()
    await card.waitFor({ state: 'detached' })
    await expect.poll(() => box().inputValue()).toBe('say Second.\n\nsay Third.')
    await box().fill('say Second.')
    await page.getByRole('button', { name: 'Send when the agent has finished' }).click()
    await card.waitFor()
    await release(session, 'one')
    await log().getByText('Second.', { exact: true }).waitFor()
    await card.waitFor({ state: 'detached' })
  })

  it('gives a message to an agent at work that takes one, and goes to a fork', async () => {
    const session = await open('say First.', 'wait one')
    await log().getByText('First.', { exact: true }).waitFor()
    const now = page.getByRole('button', { name: 'Steer now' })
    expect(await now.count()).toBe(0)
    // Only the built-in agent takes one, and this service has no model for it.
    const { database: db } = accounts.test.db
    await db.query('update sessions set runtime = null where id = $1', [session.id])
    await page.reload()
    await box().fill('Rather this.')
    await now.click()
    await log().getByText('Rather this.', { exact: true }).waitFor()
    await expect.poll(() => box().inputValue()).toBe('')
    const { turns } = (await colleague.get<TurnPage>(`/v1/sessions/${session.id}/turns`)).body
    expect(turns).toMatchObject([{}, { message: 'Rather this.', steering: 'waiting', runId: session.activeRunId }])
    expect(await pageFaults(page)).toEqual([])
    await db.query("update sessions set runtime = 'scripted' where id = $1", [session.id])
    await release(session, 'one')
    await log()
      .getByText(/works on it next/)
      .waitFor()
    await until('a sealed session', async () => (await colleague.session(session.id)).phase === 'idle')
    await page.getByRole('button', { name: 'Actions of this Session' }).click()
    await page.getByRole('menuitem', { name: 'Fork' }).click()
    await log()
      .getByText(/Forked from another Session/)
      .waitFor()
    expect(page.url()).not.toContain(session.id)
    expect(await pageFaults(page)).toEqual([])
  })

  it('keeps the buttons of a long request in sight of a phone, and cuts nothing of the action', async () => {
    const path = '/a/rather/long/path'.repeat(90)
    await page.setViewportSize({ width: 390, height: 844 })
    await open(`permission rm -rf ${path}`)
    const allow = page.getByRole('button', { name: 'Allow once' })
    await allow.waitFor()
    const sight = () =>
      allow.evaluate(button => {
        const { left, top, width, height } = button.getBoundingClientRect()
        return button.ownerDocument.elementFromPoint(left + width / 2, top + height / 2) === button
      })
    expect(await sight()).toBe(true)
    expect(await page.locator('pre').getByText(`rm -rf ${path}`).count()).toBe(1)
    await shoot(page, 'long-title')
    expect(await pageFaults(page)).toEqual([])
    await page.setViewportSize({ width: 390, height: 844 })
    // The person's message is as long, and shows its beginning.
    const own = log().getByRole('article', { name: 'You' })
    await own.getByRole('button', { name: 'Show the whole message' }).click()
    await own.getByRole('button', { name: 'Show less' }).click()
    await allow.click()
    await log().getByText('allowed once · You').waitFor()
    await log().getByText('Finished').waitFor()
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  it('copies the commands that a terminal takes, as they are', async () => {
    const session = await open('say First.', 'wait one')
    await log().getByText('First.', { exact: true }).waitFor()
    await page.goto(`${accounts.test.url}/sessions/${session.id}?panel=details`)
    const pasted = async (name: string) => {
      await page.getByRole('button', { name: `Copy the command ${name}` }).click()
      await page.getByRole('status').getByText(`Copied the command ${name}.`).waitFor()
      await box().fill('')
      await box().press('Control+v')
      return await box().inputValue()
    }
    expect(await pasted('to attach')).toBe(`berth attach ${session.id}`)
    expect(await pasted('to open a shell in the sandbox')).toBe(`berth shell ${session.id}`)
    await box().fill('')
    await release(session, 'one')
  })

  it('has a title that is written in its place, and a menu that leads there too', async () => {
    const session = await open('say First.')
    await log().getByText('Finished').waitFor()
    const field = page.getByRole('textbox', { name: 'Title' })
    const heading = page.getByRole('heading', { level: 1 })
    await heading.getByRole('button').click()
    // What is typed at once goes into the field, and a key that means something elsewhere as well.
    await page.keyboard.type('Check the invoices')
    await page.keyboard.press('Enter')
    await expect.poll(() => heading.innerText()).toBe('Check the invoices')
    await expect.poll(async () => (await colleague.session(session.id)).title).toBe('Check the invoices')
    await heading.getByRole('button').click()
    await page.keyboard.type('Never')
    await page.keyboard.press('Escape')
    expect(await heading.innerText()).toBe('Check the invoices')
    const menu = page.getByRole('button', { name: 'Actions of this Session' })
    await menu.click()
    await shoot(page, 'session-menu')
    await page.getByRole('menuitem', { name: 'Rename' }).click()
    await field.fill('safe\u202Etxt')
    await field.blur()
    await expect.poll(() => heading.innerText()).toBe('safe⟨U+202E⟩txt')
    expect(await pageFaults(page)).toEqual([])
    await menu.click()
    await page.getByRole('menuitem', { name: 'Copy link' }).click()
    await box().fill('')
    await box().press('Control+v')
    expect(await box().inputValue()).toBe(session.sessionUrl)
    await box().fill('')
    await menu.click()
    await page.getByRole('menuitem', { name: 'Archive…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    expect(await colleague.session(session.id)).not.toHaveProperty('archivedAt')
  })

  it('shows what failed, and what a script printed, at its end', async () => {
    const { database: db } = accounts.test.db
    const script = 'for i in $(seq 1 400); do echo "line $i"; done'
    const shell = await colleague.createSession({ runtime: 'shell', title: 'Count' }, script)
    await page.goto(`${accounts.test.url}/sessions/${shell.id}`)
    const output = log().locator('pre', { hasText: 'line 400' })
    await output.waitFor()
    await expect
      .poll(() => output.evaluate(element => element.scrollHeight - element.scrollTop - element.clientHeight))
      .toBeLessThan(2)
    const session = await open('say First.')
    await log().getByText('Finished').waitFor()
    const { organizationId, id: sessionId } = session
    const call = (n: number, kind: string, more: object) => ({
      type: 'svc.activity.completed',
      data: { activityId: `a${n}`, name: 'x', kind, title: `call ${n}`, status: 'succeeded', durationMs: 40, ...more },
    })
    const failed = { status: 'failed', output: 'one\nAssertionError: expected 3' }
    const calls = [call(1, 'execute', {}), call(2, 'edit', {}), call(3, 'execute', failed), call(4, 'execute', {})]
    const runId = (await colleague.session(session.id)).lastRun?.id ?? ''
    const drafts = calls.map(event => ({ ...event, runId }))
    await appendEvents(db, { organizationId, sessionId }, drafts, new Date())
    const group = log().getByRole('button', { name: 'Ran 3 commands, edited 1 file, 1 failed' })
    await group.waitFor()
    await log().getByText('AssertionError').waitFor()
    await shoot(page, 'session-failed')
    expect(await pageFaults(page)).toEqual([])
    await log().getByRole('button', { name: 'call 3' }).click()
    await log().getByText('AssertionError').waitFor({ state: 'detached' })
    await group.click()
    expect(
      await log()
        .getByRole('button', { name: /^call|Failed call/ })
        .count(),
    ).toBe(4)
  })

  it('reads code, wide tables and every direction', async () => {
    const rows = Array.from({ length: 14 }, (_, at) => `column-number-${at}`)
    const shown = [
      '```ts\nconst answer = "42" // sure\n```',
      `| ${rows.join(' | ')} |\n|${' - |'.repeat(14)}\n| ${rows.join(' | ')} |`,
      'مرحبا بالعالم.',
      'a \u202Ekcab⚠️ 👩‍👩‍👧 `x\u200By`',
    ]
    await open(`say ${shown.join('\n\n').replaceAll('\n', '\\n')}`)
    await log().locator('pre .syntax-keyword').getByText('const').last().waitFor()
    await log().getByRole('button', { name: 'Copy' }).last().click()
    await log().getByText('The code is copied.').waitFor()
    await box().press('Control+v')
    expect(await box().inputValue()).toBe('const answer = "42" // sure')
    await box().fill('')
    const table = log().getByRole('region', { name: 'Table' })
    expect(await table.evaluate(element => element.scrollWidth > element.clientWidth)).toBe(true)
    const arabic = log().getByText('مرحبا بالعالم.').last()
    expect(await arabic.evaluate(element => element.matches(':dir(rtl)'))).toBe(true)
    await log().getByText('a ⟨U+202E⟩kcab⚠️ 👩‍👩‍👧').last().waitFor()
    await log().getByText('x⟨U+200B⟩y').last().waitFor()
    await shoot(page, 'session-prose')
    expect(await pageFaults(page)).toEqual([])
  })

  it('draws the first 200 lines of a long block of code until somebody wants all', async () => {
    const lines = Array.from({ length: 250 }, (_, at) => `const line${at + 1} = ${at}`)
    await open(`say ${['```ts', ...lines, '```'].join('\\n')}`)
    const code = log().locator('pre .block')
    await log().locator('pre .syntax-keyword').first().waitFor()
    expect(await code.count()).toBe(200)
    await log().getByRole('button', { name: 'Show all 250 lines' }).click()
    await code.getByText('line250').waitFor()
    expect(await code.count()).toBe(250)
    expect(await code.last().locator('.syntax-keyword').count()).toBe(1)
  })

  it('stops the agent', async () => {
    await open('say First.', 'wait one', 'say Never.')
    await log().getByText('First.', { exact: true }).waitFor()
    const stop = page.getByRole('button', { name: 'Stop', exact: true })
    await stop.click()
    await log()
      .getByText(/^Stopped/)
      .waitFor()
    await stop.waitFor({ state: 'detached' })
    expect(await log().getByText('Never.', { exact: true }).count()).toBe(0)
  })

  it('asks by the kind of action, and takes a key that no text gets, once', async () => {
    await open('permission make deploy', 'permission make publish')
    const dock = page.getByRole('region', { name: 'Waiting for you' })
    await dock.getByRole('heading', { name: 'Allow this command?' }).waitFor()
    await dock.getByText('Runs a command in the sandbox').waitFor()
    expect(await dock.getByText('make deploy').count()).toBe(1)
    await keyed('Deny')
    const decided: string[] = []
    const onRequest = (request: Request) => {
      if (request.url().endsWith('/decision')) decided.push(request.postDataJSON().choice)
    }
    page.on('request', onRequest)
    await box().press('x')
    expect([await box().inputValue(), decided]).toEqual(['x', []])
    await box().fill('')
    await box().blur()
    await page.evaluate(`for (const key of 'aax') dispatchEvent(new KeyboardEvent('keydown', { key }))`)
    await dock.getByText('make publish').waitFor()
    await keyed('Deny')
    await page.keyboard.press('x')
    await log().getByText('denied · You').waitFor()
    await log().getByText('Finished').waitFor()
    expect(decided).toEqual(['allow_once', 'deny'])
    page.off('request', onRequest)
  })

  it('allows for the rest of a Turn, and is not asked again', async () => {
    await open('permission make deploy', 'permission make publish')
    await keyed('For this Turn')
    await page.keyboard.press('t')
    // The second request is of the same tool, so the decision on the first answers it.
    await log().getByText('Finished').waitFor()
    await log().getByText('allowed for the Turn · You').waitFor()
    await log().getByText('allowed for the Turn', { exact: true }).waitFor()
    expect(await log().getByText('permission: yes').count()).toBe(2)
    await page.getByRole('region', { name: 'Waiting for you' }).waitFor({ state: 'detached' })
  })

  it('allows for this Session, and is not asked again in a later Turn', async () => {
    const session = await open('permission make deploy')
    await keyed('For this Session')
    await page.keyboard.press('s')
    await log().getByText('allowed for this Session · You').waitFor()
    await until('a sealed session', async () => (await colleague.session(session.id)).phase === 'idle')
    await box().fill('permission make publish')
    await page.keyboard.press('Enter')
    await log().getByText('permission: yes').nth(1).waitFor()
    await log().getByText('allowed for this Session', { exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Allow once' }).count()).toBe(0)
  })

  it('answers a question by a digit or in the box, and queues nothing behind it', async () => {
    const colour = { type: 'string', enum: ['Red', 'Blue'] }
    const form = (property: object) =>
      `ask ${JSON.stringify({ message: 'Which?', requestedSchema: { properties: { it: property }, required: ['it'] } })}`
    const session = await open(form(colour), form(colour), form({ type: 'string' }))
    const given = (it: string) => log().getByText(`"content":{"it":"${it}"}`).waitFor()
    await keyed('Blue')
    await page.keyboard.press('2')
    await given('Blue')
    const answer = page.getByLabel('Your answer')
    await answer.and(page.locator('[placeholder="Or answer in your own words"]')).fill('{ teal }')
    await shoot(page, 'session-answer')
    expect(await pageFaults(page)).toEqual([])
    await answer.press('Enter')
    await given('{ teal }')
    await answer.and(page.locator('[placeholder="Your answer"]')).fill('{"as": "you like"}')
    await page.getByRole('button', { name: 'Answer', exact: true }).click()
    await given('{"as": "you like"}')
    await log().getByText('Finished').waitFor()
    const { turns } = (await colleague.get<TurnPage>(`/v1/sessions/${session.id}/turns`)).body
    expect(turns.slice(1)).toMatchObject(['2', '3', '4'].map(() => ({ replyTo: expect.anything() })))
    expect(await box().inputValue()).toBe('')
  })

  it('takes no words for an answer that were begun before the question', async () => {
    const session = await open('say First.', 'wait one', 'plan 1. Delete the slow tests.')
    await log().getByText('First.', { exact: true }).waitFor()
    await box().fill('Also the README.')
    await release(session, 'one')
    const change = page.getByLabel('Changes to the plan')
    await change.press('Enter')
    await page.getByText('Your words were begun before.').waitFor()
    await shoot(page, 'session-stray')
    expect(await pageFaults(page)).toEqual([])
    expect((await colleague.get<TurnPage>(`/v1/sessions/${session.id}/turns`)).body.turns).toHaveLength(1)
    await page.getByRole('button', { name: 'Use them as the answer' }).click()
    await page.keyboard.press('Enter')
    await log().getByText('plan: no {"feedback":"Also the README."}').waitFor()
    await log().getByText('Finished').waitFor()
    expect(await box().inputValue()).toBe('')
  })

  it('keeps what was begun about a plan, if somebody else answers first', async () => {
    const session = await open('propose 1. Delete the slow tests.')
    await page.getByLabel('Changes to the plan').fill('Keep those of the login.')
    await answerElsewhere(session)
    await page.getByText('That is no longer open. Your words were not sent.').waitFor()
    expect(await box().inputValue()).toBe('Keep those of the login.')
    await log().getByText('Finished').waitFor()
    await box().press('Enter')
    await page.getByRole('button', { name: 'Keep them as a message' }).click()
    expect((await colleague.get<TurnPage>(`/v1/sessions/${session.id}/turns`)).body.turns).toHaveLength(2)
    await page.getByRole('button', { name: 'Send', exact: true }).and(page.locator('[aria-disabled=false]')).waitFor()
    await box().fill('')
  })

  it('keeps what was begun in a form, if somebody else answers first, and sends no message beside it', async () => {
    const more = { ...why.properties, how: { type: 'string', title: 'How?' } }
    const session = await open(`choose ${JSON.stringify({ message: 'So?', requestedSchema: { properties: more } })}`)
    await page.getByRole('textbox', { name: 'Why?' }).fill('Keep those of the login.')
    await page.getByText('Answer the questions above first.').waitFor()
    await box().fill('Now?')
    await box().press('Enter')
    await box().fill('')
    await colleague.call('POST', `/v1/sessions/${session.id}/runs/${session.activeRunId}/cancel`)
    const dock = page.getByRole('region', { name: 'Decided meanwhile' })
    await dock.getByText('Your answer was not sent').waitFor()
    expect(await dock.getByRole('textbox', { name: 'Why?' }).inputValue()).toBe('Keep those of the login.')
    expect(await dock.getByRole('button', { name: 'Answer' }).count()).toBe(0)
    expect(await pageFaults(page)).toEqual([])
    await dock.getByRole('button', { name: 'Dismiss' }).click()
    await dock.waitFor({ state: 'detached' })
    expect((await colleague.get<TurnPage>(`/v1/sessions/${session.id}/turns`)).body.turns).toHaveLength(1)
  })

  it('says that an approval of a plan came too late', async () => {
    const session = await open('propose 1. Delete the slow tests.')
    await keyed('Approve the plan')
    const [sent, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await page.route('**/turns/*', async route => {
      sent.resolve()
      await held.promise
      await route.continue()
    })
    await page.keyboard.press('a')
    await sent.promise
    await answerElsewhere(session)
    await log().getByText('Finished').waitFor()
    held.resolve()
    const dock = page.getByRole('region', { name: 'Decided meanwhile' })
    await dock.getByText('This is no longer open. Your answer was not sent.').waitFor()
    await page.unroute('**/turns/*')
    await dock.getByRole('button', { name: 'Dismiss' }).click()
    await dock.waitFor({ state: 'detached' })
  })

  it.each([
    ['before the card has gone', false],
    ['after the card has gone', true],
  ])('says who has decided, if somebody else was quicker and the refusal comes %s', async (_, late) => {
    const session = await open('permission make deploy')
    const deny = page.getByRole('button', { name: 'Deny' })
    await deny.waitFor()
    const path = `/v1/sessions/${session.id}/interactions`
    const { interactions } = (await colleague.get<{ interactions: Interaction[] }>(path)).body
    const [{ id, request } = { id: '', request: {} }] = interactions
    // The page asks once the colleague has decided.
    const held = Promise.withResolvers<void>()
    await page.route('**/decision', async route => {
      await held.promise
      await route.continue()
    })
    await deny.click()
    const decision = { requestId: request.approval?.requestId, choice: 'allow_once', idempotencyKey: 'k' }
    expect((await colleague.put(`${path}/${id}/decision`, decision)).status).toBe(200)
    if (late) await deny.waitFor({ state: 'detached' })
    held.resolve()
    await log()
      .getByText(/^allowed once · (?!You)\S/)
      .waitFor()
    await page.unroute('**/decision')
    await log().getByText('Finished').waitFor()
    // The card has been out of the list for as long; whoever pressed its button still reads its outcome.
    const dock = page.getByRole('region', { name: 'Decided meanwhile' })
    await dock.getByText(/has allowed this already\./).waitFor()
    expect(await dock.getByText('left', { exact: false }).count()).toBe(0)
    await shoot(page, 'session-decided')
    expect(await pageFaults(page)).toEqual([])
    await dock.getByRole('button', { name: 'Dismiss' }).click()
    await dock.waitFor({ state: 'detached' })
  })

  it.each([-3, 3])(
    'counts the time to decide by the clock of the server, %i hours from that of the machine',
    async hours => {
      const session = await open('permission make deploy')
      const wrong = stack.use(await newVisitor(browser, { scripts: true }))
      await wrong.context.addCookies(await visitor.context.cookies())
      await wrong.page.clock.setSystemTime(Date.now() - hours * 3_600_000)
      await wrong.page.goto(page.url())
      // A machine that is late would count hours, and one that is early nothing.
      await wrong.page
        .getByRole('region', { name: 'Waiting for you' })
        .getByText(/^\d?\d:\d\d left$/)
        .waitFor()
      await wrong.page.goto(`${accounts.test.url}/sessions`)
      await wrong.page
        .getByRole('timer')
        .getByText(/^\d?\d:\d\d$/)
        .waitFor()
      expect(wrong.complaints).toEqual([])
      await colleague.call('DELETE', `/v1/sessions/${session.id}`)
    },
  )

  it('keeps what another device left, and what is typed while a message goes out', async () => {
    const session = await open('say First.', 'wait one')
    await log().getByText('First.', { exact: true }).waitFor()
    const elsewhere = stack.use(await newVisitor(browser, { scripts: true }))
    await elsewhere.context.addCookies(await visitor.context.cookies())
    await elsewhere.page.goto(page.url())
    await elsewhere.page.getByLabel('Message to the agent').fill('say From the phone.')
    await elsewhere.page.keyboard.press('Enter')
    await elsewhere.page.getByRole('article', { name: 'The next message' }).waitFor()
    const held = Promise.withResolvers<void>()
    await page.route('**/next-turn', async route => {
      if (route.request().method() === 'PUT') await held.promise
      await route.continue()
    })
    await box().fill('say From the laptop.')
    await page.keyboard.press('Enter')
    await box().fill('say Later.')
    held.resolve()
    const card = page.getByRole('article', { name: 'The next message' })
    await card.getByText('From the laptop.').waitFor()
    await card.getByText('From the phone.').waitFor()
    expect(await box().inputValue()).toBe('say Later.')
    await page.unroute('**/next-turn')
    await box().fill('')
    await release(session, 'one')
    // The message, and the agent's reply.
    await log().getByText('From the laptop.').nth(1).waitFor()
  })

  it('admits a message once that is sent again after leaving the page before its answer', async () => {
    const session = await open('say First.')
    await log().getByText('First.', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
    const [sent, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let isFirst = true
    await page.route('**/turns/*', async route => {
      if (route.request().method() !== 'PUT' || !isFirst) return route.continue()
      isFirst = false
      sent.resolve()
      await held.promise
      await route.continue()
    })
    await box().fill('say Once.')
    await page.keyboard.press('Enter')
    await sent.promise
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Sessions' }).first().click()
    await page.getByRole('heading', { name: 'Sessions' }).first().waitFor()
    await page.goBack()
    await expect.poll(() => box().inputValue()).toBe('say Once.')
    await box().press('Enter')
    await expect.poll(() => box().inputValue()).toBe('')
    await log().getByText('Once.', { exact: true }).waitFor()
    await until('the end of its Run', async () => (await colleague.session(session.id)).activeRunId === undefined)
    const late = page.waitForResponse(response => response.url().includes('/turns/'))
    held.resolve()
    await late
    await page.unroute('**/turns/*')
    const { body } = await colleague.get<TurnPage>(`/v1/sessions/${session.id}/turns`)
    expect(body.turns.map(({ message }) => message)).toEqual([scriptOf('say First.'), 'say Once.'])
  })

  it('lets one message wait, and says whose it is', async () => {
    const session = await open('say First.', 'wait one')
    await log().getByText('First.', { exact: true }).waitFor()
    const path = `/cloud/sessions/${session.id}/next-turn`
    await colleague.put(path, { turnId: crypto.randomUUID(), message: 'say Theirs.' })
    await page.reload()
    await shown(/message is sent when the agent has finished/)
    await shown('Only one can wait at a time.')
    await page.getByRole('button', { name: 'Take it back' }).click()
    await page.getByRole('article', { name: 'The next message' }).waitFor({ state: 'detached' })
    await expect.poll(() => box().inputValue()).toBe('say Theirs.')
    await box().fill('')
    await release(session, 'one')
  })

  it('shows the message that waits, although an answer of before it comes late', async () => {
    const session = await open('say First.', 'wait one')
    await log().getByText('First.', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Send when the agent has finished' }).waitFor()
    const [requested, held] = [Promise.withResolvers<Request>(), Promise.withResolvers<void>()]
    let isFirst = true
    await page.route('**/next-turn', async route => {
      if (route.request().method() !== 'GET' || !isFirst) return route.continue()
      isFirst = false
      // Whoever calls for a browser has to say that the page itself asks.
      const headers = { ...(await route.request().allHeaders()), 'sec-fetch-site': 'same-origin' }
      const response = await route.fetch({ headers })
      requested.resolve(route.request())
      await held.promise
      await route.fulfill({ response })
    })
    // The page asks for the message whenever the log says that the Session has changed.
    const key = { organizationId: session.organizationId, sessionId: session.id }
    const { database: db } = accounts.test.db
    await db.transaction(tx =>
      appendEvents(tx, key, [{ type: 'svc.conversation.cleared', data: { reason: 'requested' } }], new Date()),
    )
    const before = await requested.promise
    await box().fill('say Second.')
    await page.keyboard.press('Enter')
    const card = page.getByRole('article', { name: 'The next message' })
    await card.getByText('say Second.').waitFor()
    const late = page.waitForEvent('requestfinished', request => request === before)
    held.resolve()
    await late
    await page.evaluate(() => new Promise(resolve => setTimeout(resolve)))
    expect(await card.count()).toBe(1)
    await page.unroute('**/next-turn')
    await release(session, 'one')
    await log().getByText('Second.', { exact: true }).waitFor()
    await card.waitFor({ state: 'detached' })
  })

  it('gives a message back that can no longer be sent', async () => {
    const session = await open('say First.', 'wait one')
    await log().getByText('First.', { exact: true }).waitFor()
    await box().fill('say Too late.')
    await page.keyboard.press('Enter')
    await page.getByRole('article', { name: 'The next message' }).waitFor()
    await colleague.call('DELETE', `/v1/sessions/${session.id}`)
    await shown('Your message was not sent. The Session was archived.')
    await page.getByRole('button', { name: 'Copy' }).waitFor()
    await shown('say Too late.')
    await shoot(page, 'session-given-back')
    expect(await pageFaults(page)).toEqual([])
  })

  it('finds words far back in the log, goes there, and keeps the place in the address', async () => {
    const session = await open('say First.')
    const key = { organizationId: session.organizationId, sessionId: session.id }
    const piece = (text: string) =>
      ({ type: 'svc.message.created', data: { messageId: randomUUID(), role: 'assistant', text } }) as const
    await page.getByText('Finished').waitFor()
    const shown = [piece('The needle is here.'), ...Array.from({ length: 600 }, () => piece('Hay.'))]
    await accounts.test.db.database.transaction(tx => appendEvents(tx, key, shown, new Date()))
    await page.reload()
    await log().getByText('Hay.').last().waitFor()
    await page.getByRole('button', { name: 'Find in this Session' }).click()
    await page.getByRole('searchbox', { name: 'Find in this Session' }).fill('needle')
    await page.getByRole('list', { name: 'Places' }).getByText('needle').waitFor()
    await page.keyboard.press('Enter')
    await log().locator('[aria-current]').getByText('The needle is here.').waitFor()
    await shoot(page, 'session-find')
    expect(await pageFaults(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('search').waitFor({ state: 'detached' })
    await page.reload()
    await log().locator('[aria-current]').getByText('The needle is here.').waitFor()
    expect(new URL(page.url()).searchParams.get('event')).toMatch(/^[1-9]\d*$/)
    await page.getByRole('button', { name: 'Jump to latest' }).click()
    await log().getByText('Hay.').last().waitFor()
  })

  it('takes what is typed while the code of a search is on its way, and no shortcut does', async () => {
    const session = await open('say accept.')
    await log().getByText('accept.').first().waitFor()
    const { promise: arrives, resolve: arrive } = Promise.withResolvers<void>()
    const isLate = /\/assets\/(find-bar|palette)-[^/]+\.js$/
    await page.route(isLate, async route => {
      await arrives
      await route.continue()
    })
    await page.reload()
    await log().getByText('accept.').first().waitFor()
    const find = page.getByRole('searchbox', { name: 'Find in this Session' })
    await page.getByRole('button', { name: 'Find in this Session' }).click()
    // Both c and j are shortcuts of every page.
    await page.keyboard.type('acc')
    await find.and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Escape')
    await find.waitFor({ state: 'detached' })
    await page.keyboard.press('Control+k')
    await page.keyboard.type('comp')
    await page
      .getByRole('searchbox', { name: /^Search Sessions/ })
      .and(page.locator(':focus'))
      .waitFor()
    expect(new URL(page.url()).pathname).toBe(`/sessions/${session.id}`)
    arrive()
    const palette = page.getByRole('combobox', { name: /^Search Sessions/ })
    await palette.and(page.locator(':focus')).waitFor()
    await page.keyboard.type('ute')
    expect(await palette.inputValue()).toBe('compute')
    await page.keyboard.press('Escape')
    await palette.waitFor({ state: 'detached' })
    await page.keyboard.press('Control+k')
    await palette.waitFor()
    expect(await palette.inputValue()).toBe('')
    await page.keyboard.press('Escape')
    await page.unroute(isLate)
  })

  it('offers the commands of the engine while they are typed', async () => {
    const session = await colleague.createSession()
    await page.goto(`${accounts.test.url}/sessions/${session.id}`)
    await box().fill('/c')
    await page.getByRole('option', { name: '/compact' }).waitFor()
    await shoot(page, 'session-commands')
    expect(await pageFaults(page)).toEqual([])
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    expect(await box().inputValue()).toBe('/clear\n')
    await box().fill('')
  })

  it('tells what sub-agents do, each by itself, and what the Run has spent of what it may', async () => {
    const { database: db } = accounts.test.db
    const session = await open(taskOf('token'))
    await log().getByText('Two agents look for it.').waitFor()
    const { organizationId, id: sessionId, activeRunId: runId = '' } = session
    const of = (lane: string, n: number) => ({ delegationId: lane, activityId: `${lane}${n}`, name: 'bash' })
    const begun = (lane: string, n: number) => ({
      type: 'svc.run.progress',
      data: { ...of(lane, n), category: 'tool', status: 'started', occurredAt: new Date().toISOString() },
    })
    const ended = (lane: string, n: number) => ({
      type: 'svc.activity.completed',
      data: { ...of(lane, n), kind: 'search', title: `grep -r token ${lane}`, status: 'succeeded', durationMs: 40 },
    })
    const over = (lane: string, status: string, summary: string) => ({
      type: 'svc.delegation.completed',
      data: { delegationId: lane, status, summary },
    })
    const task = 'Look where the tests read it.\nReport each place.'
    const events = [
      { type: 'svc.delegation.started', data: { delegationId: 'test', task } },
      ...[begun('src', 1), begun('test', 1), ended('src', 1), begun('src', 2), ended('test', 1), ended('src', 2)],
      over('test', 'completed', 'The tests do not read it.'),
    ]
    await spend(db, { organizationId, sessionId, runId, at: new Date().toISOString(), costUsd: 0.42 })
    await db.query('insert into organization_limits (organization_id, own_cost_usd) values ($1, 5)', [organizationId])
    const drafts = events.map(event => ({ ...event, runId }))
    await appendEvents(db, { organizationId, sessionId }, drafts, new Date())
    const agents = log().getByRole('button', { name: /Sub-agent/ })
    await agents.nth(1).waitFor()
    expect(await agents.allInnerTexts()).toEqual([
      expect.stringMatching(/^Look where the tests read it\.\s+Made 1 search/),
      expect.stringMatching(/^Sub-agent\s+Made 2 searches/),
    ])
    await agents.first().click()
    await shown('Report each place.')
    await shown('The tests do not read it.')
    await page.reload()
    await shown('$0.42 of $5.00')
    await shoot(page, 'session-agents')
    expect(await pageFaults(page)).toEqual([])
    await release(session, 'two')
    await log().getByText('Found.').waitFor()
  })

  it('keeps the to-do list of the agent above the message box until all is done, and its commands in the background', async () => {
    const todo = (...entries: (readonly [string, string])[]) => `todo ${JSON.stringify(entries)}`
    const steps = ['Read the login test', 'Wait for \u202eready() instead of a fixed time', 'Run it 50 times']
    const at = (now: number) =>
      todo(...steps.map((text, n) => [text, n < now ? 'completed' : n === now ? 'in_progress' : 'pending'] as const))
    const startedAt = new Date().toISOString()
    const commands = [
      { id: 'b1', command: 'npm run dev', status: 'running', startedAt },
      { id: 'b2', command: 'npm run build', status: 'exited', exitCode: 1, startedAt },
    ]
    const session = await open(at(0), 'say I begin.', 'wait one', at(1), 'say Go on.', 'wait two', at(3), 'say Done.')
    const list = page.locator('details', { hasText: 'To do' })
    await list.getByText('0 of 3 done').waitFor()
    await list.getByText('Read the login test').first().waitFor()
    await release(session, 'one')
    await list.getByText('1 of 3 done').waitFor()
    // Only our own agent has such commands, so the test stores them.
    const { database } = accounts.test.db
    await database.query(
      `update sessions s set background = jsonb_build_object('leaseId', l.id, 'commands', $2::jsonb)
      from leases l where s.id = $1 and l.session_id = s.id and l.ended_at is null`,
      [session.id, JSON.stringify(commands)],
    )
    // Also to whom the log is not read that far back.
    await page.reload()
    await list.getByText('1 of 3 done').click()
    await list.getByRole('listitem').nth(2).waitFor()
    expect(await list.getByRole('listitem').allInnerTexts()).toEqual([
      expect.stringMatching(/^Done:\s+Read the login test$/),
      expect.stringMatching(/^Now:\s+Wait for ⟨U\+202E⟩ready/),
      'Run it 50 times',
    ])
    const background = page.locator('details', { hasText: 'In the background' })
    await background.getByText('1 running').click()
    await background.getByText('exit code 1').waitFor()
    await shoot(page, 'session-todo')
    expect(await pageFaults(page)).toEqual([])
    await release(session, 'two')
    await log()
      .getByText(/Done\.$/)
      .waitFor()
    await list.waitFor({ state: 'detached' })
  })

  it('never met the policy of the page', () => {
    expect(visitor.complaints).toEqual([])
  })
})
