import { randomUUID } from 'node:crypto'
import type { Session } from '@berth/contract'
import { appendEvents } from '@berth/core/sessions/log/append.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { type OtherSite, startOtherSite } from '@berth/testing/browser/other-site.ts'
import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { LogWriter } from '@berth/testing/events/log-writer.ts'
import { until } from '@berth/testing/until.ts'
import type { Page, Response } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let visitor: Visitor
let page: Page
let other: OtherSite
let session: Session
let origin: string
beforeAll(async () => {
  accounts = stack.use(await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } }))
  origin = accounts.test.url
  other = stack.use(await startOtherSite('<h1>Another port</h1>'))
  const person = await personWithPassword(accounts.test.db.database, accounts.test.tenant.organizationId)
  const { api } = await accounts.person({})
  session = await api.createSession({ runtime: 'shell', title: 'Count the doors' }, 'true')
  await api.runEnded(session.id, session.activeRunId ?? '')
  await until('the seal', async () => (await api.session(session.id)).phase === 'idle')
  visitor = await openVisitor(stack)
  page = visitor.page
  await openSignedIn(page, `${origin}/sessions/${session.id}`, person)
})
afterAll(() => stack.disposeAsync())

/** Gets a ticket for a terminal as the console's page does. */
const ticket = (): Promise<{ url: string; ticket: string; terminalId: string }> =>
  page.evaluate(
    async ({ id, organizationId }) => {
      const answer = await fetch(`/cloud/sessions/${id}/terminals`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-svc-organization': organizationId },
        body: '{}',
      })
      return (await answer.json()) as { url: string; ticket: string; terminalId: string }
    },
    { id: session.id, organizationId: session.organizationId },
  )

/** Opens a WebSocket in a page. @returns whether it opened */
const opens = (by: Page, url: string, protocols: readonly string[]): Promise<boolean> =>
  by.evaluate(
    ({ url, protocols }) =>
      new Promise<boolean>(resolve => {
        const socket = new WebSocket(url, [...protocols])
        socket.onopen = () => {
          socket.close()
          resolve(true)
        }
        socket.onerror = () => resolve(false)
      }),
    { url, protocols },
  )

describe('a page on another port of the same host, in the browser of somebody who is signed in', () => {
  let evil: Page
  beforeAll(async () => {
    evil = await visitor.context.newPage()
    await evil.goto(other.origin)
    // Cookies ignore ports, and so does SameSite.
    const sent = await visitor.context.cookies(other.origin)
    expect(sent.map(({ name }) => name).join()).toMatch(/svc_console/)
  })

  it.each([
    ['reads', '/cloud/v1/sessions', { method: 'GET' }],
    ['reads who is there', '/cloud/auth/session', { method: 'GET' }],
    ['signs the person out', '/cloud/auth/sign-out', { method: 'POST' }],
    ['opens the stream', '/cloud/live?feed=1', { method: 'GET' }],
    ['asks for a terminal', 'terminals', { method: 'POST', body: '{}' }],
  ])('is refused, although the cookie is sent there too: it %s', async (_, path, init) => {
    const url = origin + (path === 'terminals' ? `/cloud/sessions/${session.id}/terminals` : path)
    const answered = evil.waitForResponse(url)
    // No preflight asks about a request without headers of its own.
    await evil.evaluate(
      ({ url, init }) => fetch(url, { ...init, mode: 'no-cors', credentials: 'include' }).then(() => {}),
      { url, init },
    )
    const response: Response = await answered
    expect(response.status()).toBe(403)
  })

  it('may name no organization: the browser asks first, and is told nothing', async () => {
    const headers = { 'x-svc-organization': session.organizationId, 'content-type': 'application/json' }
    const outcome = evil.evaluate(
      ({ url, headers }) =>
        fetch(url, { headers, credentials: 'include' }).then(
          answer => String(answer.status),
          () => 'blocked',
        ),
      { url: `${origin}/cloud/v1/sessions`, headers },
    )
    expect(await outcome).toBe('blocked')
  })

  it('opens no terminal, with a stolen ticket either, which is still good for the console', async () => {
    const stolen = await ticket()
    expect(await opens(evil, stolen.url, ['berth.terminal.v1'])).toBe(false)
    expect(await opens(evil, stolen.url, ['berth.terminal.v1', `ticket.${stolen.ticket}`])).toBe(false)
    const protocols = ['berth.terminal.v1', `ticket.${stolen.ticket}`]
    expect(await opens(page, stolen.url, protocols)).toBe(true)
    // Once.
    expect(await opens(page, stolen.url, protocols)).toBe(false)
  })

  it('cannot frame the console, nor keep a hold on its window', async () => {
    await evil.evaluate(
      `document.body.append(Object.assign(document.createElement('iframe'), { src: '${origin}/sessions' }))`,
    )
    const framed = await until('the frame', () => evil.frames().find(frame => frame !== evil.mainFrame()))
    await framed.waitForLoadState()
    expect(await framed.locator('h1', { hasText: 'Sessions' }).count()).toBe(0)
    const opening = visitor.context.waitForEvent('page')
    await evil.evaluate(`globalThis.held = open('${origin}/sessions'); 0`)
    const window = await opening
    await window.getByRole('heading', { level: 1, name: 'Sessions' }).waitFor()
    expect(await window.evaluate('opener === null')).toBe(true)
    await window.close()
  })

  it('has ended nothing: the person is signed in', async () => {
    await evil.close()
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Count the doors' }).waitFor()
  })
})

describe('a Session of another organization', () => {
  it.each(['', '?panel=files', '?panel=terminal', '?panel=preview', '?panel=artifacts', '/review'])(
    'is not there, and is told apart from none by nothing: %s',
    async rest => {
      const { api } = await accounts.test.newTenant()
      const secret = await api.createSession({ title: 'Top secret plan' })
      const words: string[] = []
      for (const id of [secret.id, randomUUID()]) {
        await page.goto(`${origin}/sessions/${id}${rest}`)
        await page.getByText('No such Session').waitFor()
        words.push((await page.locator('main').innerText()).replaceAll(id, ''))
      }
      expect(words[0]).toBe(words[1])
      expect(words[0]).not.toContain('secret')
    },
  )
})

describe('a laptop that slept', () => {
  it('catches up without a gap and without a reload, although its clock has jumped', async () => {
    await using writer = await LogWriter.open(accounts.test.db)
    const key = { organizationId: session.organizationId, sessionId: session.id }
    const append = async (first: number, last: number) => {
      const messages = Array.from({ length: last - first + 1 }, (_, n) => ({
        type: 'svc.message.created' as const,
        data: { messageId: randomUUID(), role: 'assistant', text: `Door ${first + n}.` },
      }))
      await accounts.test.db.database.transaction(tx => appendEvents(tx, key, messages, new Date()))
      writer.announce(topics.session(key.organizationId, key.sessionId))
    }
    const shown = async () => (await page.getByRole('log').innerText()).match(/Door \d+\./g) ?? []
    await page.clock.install()
    await page.setViewportSize({ width: 1280, height: 4000 })
    await page.goto(`${origin}/sessions/${session.id}`)
    await append(1, 3)
    await until('what was said before', async () => (await shown()).length === 3)
    await page.evaluate('globalThis.neverReloaded = true')
    await visitor.context.setOffline(true)
    await page.getByRole('status').getByText('You are offline.').waitFor()
    await append(4, 40)
    // The lid closes, and eight hours later all timers are due at once.
    await page.clock.fastForward('08:00:00')
    await visitor.context.setOffline(false)
    await page.getByRole('status').getByText('You are offline.').waitFor({ state: 'detached' })
    await until('what was said meanwhile', async () => (await shown()).length >= 40)
    await append(41, 42)
    await until('what is said now', async () => (await shown()).length >= 42)
    expect(await shown()).toEqual(Array.from({ length: 42 }, (_, n) => `Door ${n + 1}.`))
    expect(await page.evaluate('globalThis.neverReloaded')).toBe(true)
  })
})

it('no page of the console met its policy', () => {
  // The browser logs each refusal of the other site in its tab.
  const refused = [
    `Access to fetch at '${origin}/cloud/v1/sessions' from origin '${other.origin}' has been blocked`,
    `net::ERR_FAILED ${origin}/cloud/v1/sessions`,
    `Framing '${origin}/' violates`,
  ]
  expect(
    visitor.complaints
      .filter(complaint => !refused.some(words => complaint.includes(words)))
      .filter(
        complaint => !/WebSocket connection|ERR_INTERNET_DISCONNECTED|404 cloud_session_not_found/.test(complaint),
      ),
  ).toEqual([])
})
