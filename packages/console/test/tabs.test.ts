import { randomUUID } from 'node:crypto'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { newVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { givePassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openInteraction } from '@berth/testing/console/session-rows.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { LogWriter } from '@berth/testing/events/log-writer.ts'
import { until } from '@berth/testing/until.ts'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let browser: Browser
let writer: LogWriter
let own: Awaited<ReturnType<Accounts['person']>>
beforeAll(async () => {
  accounts = stack.use(await startAccounts())
  writer = stack.use(await LogWriter.open(accounts.test.db))
  browser = await launchChromium()
  stack.defer(() => browser.close())
})
afterAll(() => stack.disposeAsync())

/** Tabs of a browser without windows are always in sight, so tests say which one is; and nobody sees notifications. */
const stage = `
  let seen = true
  Object.defineProperty(document, 'visibilityState', { get: () => (seen ? 'visible' : 'hidden') })
  globalThis.see = now => {
    seen = now
    document.dispatchEvent(new Event('visibilitychange'))
  }
  globalThis.notices = []
  globalThis.Notification = class extends EventTarget {
    static permission = localStorage.getItem('berth.notifications') === 'on' ? 'granted' : 'default'
    static async requestPermission() {
      return (this.permission = 'granted')
    }
    constructor(title, { body }) {
      super()
      notices.push(title + ': ' + body)
    }
    close() {}
  }
`

let visitor: Visitor
let context: BrowserContext
let page: Page
beforeEach(async () => {
  own = await accounts.person({})
  await givePassword(accounts.test.db.database, own.who)
  visitor = stack.use(await newVisitor(browser, { scripts: true }))
  context = visitor.context
  page = visitor.page
  // Tabs of a browser without windows are always in sight, so tests say which one is.
  // A tab begins with an empty page, which has no storage.
  await context.addInitScript({ content: `if (location.protocol !== 'about:') {${stage}}` })
  await openSignedIn(page, `${accounts.test.url}/sessions`, own.who)
})

const approval = { kind: 'approval', deadline: new Date('2030-01-01T00:00:00Z') } as const
const see = (tab: Page, seen: boolean) =>
  tab.evaluate(now => (globalThis as unknown as { see(seen: boolean): void }).see(now), seen)
const notices = (tab: Page) => tab.evaluate(() => (globalThis as unknown as { notices: string[] }).notices)

describe('a person with many tabs', () => {
  it('sees the seventh work, although a browser has six connections', async () => {
    let last = page
    for (let at = 2; at <= 7; at++) {
      await see(last, false)
      last = await context.newPage()
      await last.goto(`${accounts.test.url}/sessions`)
      await last.getByRole('heading', { level: 1, name: 'Sessions' }).waitFor()
    }
    await own.api.createSession({ title: 'Told to the seventh' })
    await last.locator('[data-list-item]', { hasText: 'Told to the seventh' }).waitFor()
    // A tab that was out of sight has missed nothing once it is looked at.
    await see(last, false)
    const third = context.pages()[2] as Page
    await see(third, true)
    await third.locator('[data-list-item]', { hasText: 'Told to the seventh' }).waitFor()
    expect(visitor.complaints).toEqual([])
  })

  it('is notified once, by one tab, while none is in sight', async () => {
    const other = await context.newPage()
    await other.goto(`${accounts.test.url}/settings/notifications`)
    await other.getByRole('button', { name: 'Turn on', exact: true }).click()
    await other.getByText('On in this browser').waitFor()
    await shoot(other, 'settings-notifications')
    expect(await pageFaults(other)).toEqual([])
    await page.reload()
    const session = await own.api.createSession({ title: 'Upgrade the parser' }, 'a')
    const key = { organizationId: session.organizationId, sessionId: session.id }
    const title = page.locator('[data-list-item]', { hasText: 'Upgrade the parser' })
    await title.waitFor()
    await openInteraction(accounts.test.db.database, session, approval)
    await writer.append(key)
    await page.getByText('Asks to be allowed').waitFor()
    const heard = async () => [...(await notices(page)), ...(await notices(other))]
    expect(await heard()).toEqual([])
    await see(page, false)
    await see(other, false)
    const settle = async () => {
      await accounts.test.db.database.query('delete from interactions where session_id = $1', [session.id])
      await writer.append(key)
      // Whichever of them leads has heard that nothing waits.
      await page.getByText('Asks to be allowed').waitFor({ state: 'detached' })
      await other.getByText(', 1 need you').first().waitFor({ state: 'detached' })
    }
    await settle()
    await openInteraction(accounts.test.db.database, session, approval)
    await writer.append(key)
    await until('a notification', async () => (await heard()).length > 0)
    await settle()
    await openInteraction(accounts.test.db.database, session, approval)
    // After a break of the stream, or on a slow day, the list tells before the feed does.
    for (const tab of [page, other]) await tab.evaluate("dispatchEvent(new Event('online'))")
    await until('the next one', async () => (await heard()).length > 1)
    await writer.append(key)
    await settle()
    const notice = 'Upgrade the parser: Asks to be allowed'
    expect(await heard()).toEqual([notice, notice])
  })

  it('is told of two organizations, each in its own tab', async () => {
    const { tenant } = await accounts.test.newTenant()
    const { organizationId } = tenant
    await accounts.test.db.database.query(
      `insert into memberships (id, organization_id, person_id, role, created_at) values ($1, $2, $3, 'member', now())`,
      [randomUUID(), organizationId, own.who.personId],
    )
    await page.evaluate(() => localStorage.setItem('berth.notifications', 'on'))
    const other = await context.newPage()
    await other.goto(`${accounts.test.url}/sessions?everyone=true`)
    await other.evaluate(id => sessionStorage.setItem('berth.organization', id), organizationId)
    await other.reload()
    await other.getByRole('heading', { level: 1, name: 'Sessions' }).waitFor()
    // Somebody looks at the first, so the other keeps its own stream although nobody sees it.
    await see(other, false)
    await see(page, true)
    const rows = (tab: Page) => tab.locator('[data-list-item]')
    const { api } = await accounts.person({ organizationId })
    const far = await api.createSession({ title: 'Of the second' }, 'a')
    await rows(other).filter({ hasText: 'Of the second' }).waitFor()
    // Notifications are for Sessions that somebody started, opened or pinned.
    await accounts.test.db.database.query(
      `insert into session_marks (organization_id, session_id, person_id, pinned_at) values ($1, $2, $3, now())`,
      [organizationId, far.id, own.who.personId],
    )
    const near = await own.api.createSession({ title: 'Of the first' }, 'a')
    await rows(page).filter({ hasText: 'Of the first' }).waitFor()
    expect([await rows(page).allInnerTexts(), await rows(other).allInnerTexts()]).toEqual([
      expect.not.arrayContaining([expect.stringContaining('Of the second')]),
      [expect.stringContaining('Of the second')],
    ])
    for (const session of [near, far]) {
      await openInteraction(accounts.test.db.database, session, approval)
      await writer.append({ organizationId: session.organizationId, sessionId: session.id })
    }
    // A visible Session needs no notification; the other organization is not in sight.
    await until('a notification', async () => (await notices(other)).length > 0)
    expect([await notices(page), await notices(other)]).toEqual([[], ['Of the second: Asks to be allowed']])
    expect(visitor.complaints).toEqual([])
  })

  it('catches up after the machine slept', async () => {
    await context.setOffline(true)
    await page.getByText('You are offline.').waitFor()
    await own.api.createSession({ title: 'Made meanwhile' })
    await context.setOffline(false)
    await page.locator('[data-list-item]', { hasText: 'Made meanwhile' }).waitFor()
  })

  it('is shown the way out when the membership ends', async () => {
    await own.api.createSession({ title: 'Seen before' })
    await page.locator('[data-list-item]', { hasText: 'Seen before' }).waitFor()
    await accounts.test.db.database.query('update memberships set revoked_at = now() where id = $1', [
      own.who.membershipId,
    ])
    // Nobody touches the page: its stream is judged again, and refused.
    await page.getByText('You belong to no organization').waitFor()
  })
})
