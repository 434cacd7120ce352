import { randomUUID } from 'node:crypto'
import type { Session } from '@berth/contract'
import { appendEvents } from '@berth/core/sessions/log/append.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { newVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { LogWriter } from '@berth/testing/events/log-writer.ts'
import { until } from '@berth/testing/until.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let writer: LogWriter
let browser: Browser
let visitor: Visitor
let page: Page
let person: Awaited<ReturnType<typeof personWithPassword>>
/** Paths below `/cloud` that the page has asked for. */
let requested: string[]
beforeAll(async () => {
  accounts = stack.use(await startAccounts())
  writer = stack.use(await LogWriter.open(accounts.test.db))
  const { db, tenant } = accounts.test
  person = await personWithPassword(db.database, tenant.organizationId)
  browser = await launchChromium()
  stack.defer(() => browser.close())
})
afterAll(() => stack.disposeAsync())
beforeEach(async () => {
  visitor = stack.use(await newVisitor(browser, { scripts: true }))
  page = visitor.page
  requested = []
  page.on('request', request => {
    const { pathname } = new URL(request.url())
    if (pathname.startsWith('/cloud/')) requested.push(pathname)
  })
})

/** Appends messages of the agent, with the numbers from one to another, as a worker does. */
async function append({ organizationId, id }: Session, first: number, last: number): Promise<void> {
  const key = { organizationId, sessionId: id }
  const messages = Array.from({ length: last - first + 1 }, (_, n) => ({
    type: 'svc.message.created' as const,
    data: { messageId: randomUUID(), role: 'assistant', text: `Step ${first + n}.` },
  }))
  await accounts.test.db.database.transaction(tx => appendEvents(tx, key, messages, new Date()))
  writer.announce(topics.session(organizationId, id))
}
const log = () => page.getByRole('log')
const shown = async () => [...(await log().innerText()).matchAll(/Step (\d+)\./g)].map(([, n]) => Number(n))
const elements = () => page.evaluate<number>("document.querySelectorAll('*').length")

describe('a machine that sleeps for a night', () => {
  it('catches up without a gap, without a reload, and without a storm of requests', async () => {
    const session = await accounts.test.api.createSession({ title: 'Mend the clock' })
    await append(session, 1, 5)
    await page.clock.install()
    await openSignedIn(page, `${accounts.test.url}/sessions/${session.id}`, person)
    // Every message is in sight, so that a gap would be.
    await page.setViewportSize({ width: 1280, height: 12_000 })
    await until('five steps', async () => (await shown()).length === 5)
    await page.getByLabel('Message to the agent').fill('Also mend the calendar')
    await page.evaluate('globalThis.neverReloaded = true')
    const devtools = await visitor.context.newCDPSession(page)
    await visitor.context.setOffline(true)
    await page.getByText('Your agents go on').waitFor()
    await devtools.send('Page.setWebLifecycleState', { state: 'frozen' })
    for (let at = 6; at <= 120; at += 5) await append(session, at, at + 4)
    for (let at = 0; at < 30; at += 1) await accounts.test.api.createSession({ title: `Made at night ${at}` })
    requested = []
    await devtools.send('Page.setWebLifecycleState', { state: 'active' })
    await visitor.context.setOffline(false)
    // Every timer of the night is due at once.
    await page.clock.fastForward('09:00:00')
    await until('all steps', async () => (await shown()).length >= 120)
    await append(session, 121, 121)
    await until('a step of the morning', async () => (await shown()).includes(121))
    expect(await shown()).toEqual(Array.from({ length: 121 }, (_, n) => n + 1))
    const streams = requested.filter(path => path === '/cloud/live')
    expect(streams.length).toBeLessThanOrEqual(4)
    expect(requested.length, requested.join(' ')).toBeLessThanOrEqual(40)
    expect(await page.getByLabel('Message to the agent').inputValue()).toBe('Also mend the calendar')
    expect(await page.evaluate('globalThis.neverReloaded')).toBe(true)
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Sessions' }).first().click()
    await page.getByRole('link', { name: 'Mine' }).click()
    await page.locator('[data-list-item]', { hasText: 'Made at night 29' }).waitFor()
    expect(visitor.complaints.filter(text => !text.includes('ERR_INTERNET_DISCONNECTED'))).toEqual([])
  })
})

describe('a Session of 50,000 Events', () => {
  const EVENTS = 50_000
  /** So many are stored in one transaction. */
  const batch = 2_500
  let session: Session
  beforeAll(async () => {
    session = await accounts.test.api.createSession({ title: 'Migrate everything' })
    const { lastEventSequence: before } = await accounts.test.api.session(session.id)
    for (let at = before; at < EVENTS; at += batch) await append(session, at + 1, Math.min(at + batch, EVENTS))
  }, 400_000)

  it('opens at its end with one read of the log, scrolls up by pages, and stays small', async () => {
    await openSignedIn(page, `${accounts.test.url}/sessions/${session.id}`, person)
    await log().getByText(`Step ${EVENTS}.`, { exact: true }).waitFor()
    const of = (suffix: string) => requested.filter(path => path.endsWith(suffix)).length
    expect([of('/overview'), of('/events')]).toEqual([1, 0])
    expect(requested.length, requested.join(' ')).toBeLessThanOrEqual(40)
    expect(await elements()).toBeLessThan(2_500)
    await log().hover()
    await until('an old step', async () => {
      await page.mouse.wheel(0, -20_000)
      return Math.min(...(await shown())) <= EVENTS - 1_500
    })
    // Pages of Events have a hundred each; some are read ahead.
    expect(of('/events')).toBeLessThanOrEqual(40)
    expect(await elements()).toBeLessThan(2_500)
    const numbers = await shown()
    expect(numbers).toEqual(numbers.map((_, at) => (numbers[0] ?? 0) + at))
    await append(session, EVENTS + 1, EVENTS + 1)
    await page.getByRole('button', { name: /latest/i }).click()
    await log()
      .getByText(`Step ${EVENTS + 1}.`, { exact: true })
      .waitFor()
    expect(visitor.complaints).toEqual([])
  })

  it('is entered at an Event of its beginning without reading what lies between', async () => {
    await openSignedIn(page, `${accounts.test.url}/sessions/${session.id}?event=200`, person)
    await log().getByText('Step 200.', { exact: true }).waitFor()
    expect(requested.filter(path => path.endsWith('/events')).length).toBeLessThanOrEqual(10)
    expect(await elements()).toBeLessThan(2_500)
  })
})
