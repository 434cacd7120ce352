import type { Session } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { oneWay } from '@berth/testing/one-way.ts'
import { until } from '@berth/testing/until.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let visitor: Visitor
let page: Page
let api: Api
let session: Session
beforeAll(async () => {
  accounts = stack.use(await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } }))
  const { organizationId } = accounts.test.tenant
  const person = await personWithPassword(accounts.test.db.database, organizationId)
  api = (await accounts.person({})).api
  session = await api.createSession(
    { runtime: 'shell', title: 'Tune the cache' },
    'mkdir -p src && echo "export const size = 64" > src/cache.ts && echo notes > notes.md',
  )
  await api.runEnded(session.id, session.activeRunId ?? '')
  await until('the seal', async () => (await api.session(session.id)).phase === 'idle')
  visitor = await openVisitor(stack)
  page = visitor.page
  await page.addInitScript(() => {
    const sockets: WebSocket[] = []
    const scope = Object.assign(globalThis as unknown as { name: string }, {
      sockets,
      greeted: false,
      held: null as MessageEvent[] | null,
    })
    // The name of a window outlives a reload.
    if (scope.name === 'holds') scope.held = []
    globalThis.WebSocket = class extends WebSocket {
      constructor(...parts: ConstructorParameters<typeof WebSocket>) {
        super(...parts)
        sockets.push(this)
        this.addEventListener('message', event => {
          // The page hears it after this, and has drawn it by the next turn.
          if (typeof event.data === 'string') setTimeout(() => (scope.greeted = true))
          else if (scope.held !== null) {
            event.stopImmediatePropagation()
            scope.held.push(event)
          }
        })
      }
    }
  })
  await openSignedIn(page, `${accounts.test.url}/sessions/${session.id}?panel=terminal`, person)
  await page.getByRole('button', { name: 'Open a terminal' }).waitFor()
})
afterAll(() => stack.disposeAsync())

/** The page's globals that this project's types lack. */
interface Scope {
  name: string
  readonly sockets: WebSocket[]
  /** True once the service has said that the terminal is there. */
  readonly greeted: boolean
  /** Output that is kept from the page. */
  held: MessageEvent[] | null
}

const terminals = async () =>
  (
    await accounts.test.db.database.query<{ id: string; ended_at: Date | null }>(
      'select id, ended_at from terminals order by created_at',
    )
  ).rows
const screen = () => page.locator('.xterm-rows').innerText()
const shows = (pattern: RegExp) => until(String(pattern), async () => pattern.test(await rows()))
const rows = async () => (await page.locator('.xterm-rows').textContent()) ?? ''
/** Types as a person does, and presses Enter. */
const run = async (line: string) => {
  await page.keyboard.type(line)
  await page.keyboard.press('Enter')
}
const connected = () => page.getByRole('status').getByText('Connected').waitFor()

describe('a person at a terminal in a browser', () => {
  oneWay()
  it('opens none by looking at a link', async () => {
    await shoot(page, 'terminal-offer')
    expect(await pageFaults(page)).toEqual([])
    expect(await terminals()).toEqual([])
  })

  it('works in the sandbox, with colours and the size of the panel', async () => {
    await page.getByRole('button', { name: 'Open a terminal' }).click()
    await connected()
    await run(
      'ls --color=always; cat src/cache.ts; printf "\\e[1;32mok\\e[0m \\e[33mwarn\\e[0m \\e[31mbad\\e[0m\\n"; echo si"ze" $(stty size)',
    )
    await shows(/export const size = 64[\s\S]*ok warn bad[\s\S]*size \d+ \d+/)
    await shoot(page, 'terminal')
    expect(await pageFaults(page)).toEqual([])
  })

  it('keeps what programs print away from the page and the clipboard', async () => {
    await page.getByRole('textbox', { name: 'Terminal input' }).focus()
    const title = await page.title()
    await page.evaluate(
      'document.body.dataset.copied = ""; navigator.clipboard.writeText = async text => { document.body.dataset.copied = text }',
    )
    await run(
      'printf "\\e]0;owned\\a\\e]2;owned\\a\\e]52;c;b3duZWQ=\\a\\a\\e]8;;javascript:alert(1)\\e\\\\bad-link\\e]8;;\\e\\\\ <img src=x onerror=alert(1)> \\e]8;;https://example.org/x\\e\\\\good-link\\e]8;;\\e\\\\ all-"; echo pri"nted"',
    )
    await shows(/all-printed/)
    expect(await page.title()).toBe(title)
    expect(await page.locator('.xterm img').count()).toBe(0)
    expect(await screen()).toContain('<img src=x onerror=alert(1)>')
    expect(visitor.context.pages().length).toBe(1)
    expect(await page.locator('body').getAttribute('data-copied')).toBe('')
  })

  it('finds the terminal as it was after a reload, and typed keys never reach the page’s shortcuts', async () => {
    await page.reload()
    await connected()
    await shows(/all-printed/)
    expect((await terminals()).length).toBe(1)
    await page.keyboard.press('Control+l')
    await run('echo af"ter" ? c j k')
    await shows(/after \? c j k/)
    expect(await page.getByRole('dialog').count()).toBe(0)
  })

  it('says that it is connected once it takes what is typed, so after the old output', async () => {
    await page.evaluate(() => Object.assign(globalThis, { name: 'holds' }))
    await page.reload()
    await until('the greeting', () => page.evaluate(() => (globalThis as unknown as Scope).greeted))
    expect(await page.getByRole('status').getByText('Connected').count()).toBe(0)
    await page.evaluate(() => {
      const scope = globalThis as unknown as Scope
      scope.name = ''
      const held = scope.held?.splice(0) ?? []
      scope.held = null
      for (const { data } of held) scope.sockets.at(-1)?.dispatchEvent(new MessageEvent('message', { data }))
    })
    await connected()
    await run('echo in-"time"')
    await shows(/in-time/)
  })

  it('comes back when the connection breaks', async () => {
    await run('echo $RANDOM-kept > /tmp/kept; cat /tmp/kept')
    await shows(/\d+-kept/)
    const held = Promise.withResolvers<void>()
    await page.route('**/terminals', async route => {
      await held.promise
      await route.continue()
    })
    const request = page.waitForRequest('**/terminals')
    // Whoever takes a terminal from a page without a word looks to it like a connection that breaks.
    await page.evaluate(() => {
      for (const socket of (globalThis as unknown as Scope).sockets) socket.close()
    })
    await page.getByRole('status').getByText('Reconnecting').waitFor()
    await request
    // It does not ask once more when the network is back: the second ticket would take the terminal from the first.
    await page.evaluate("dispatchEvent(new Event('online'))")
    held.resolve()
    await connected()
    await page.unroute('**/terminals')
    await run('clear; echo ba"ck" $(cat /tmp/kept)')
    await shows(/back \d+-kept/)
    expect((await terminals()).length).toBe(1)
  })

  it('fills the window, and is left by keyboard', async () => {
    await page.getByRole('button', { name: 'Full window' }).click()
    await page.getByRole('textbox', { name: 'Terminal input' }).focus()
    await run('clear; echo wi"de" $(stty size)')
    await shows(/wide \d+ 1\d\d/)
    await shoot(page, 'terminal-full')
    await page.getByRole('textbox', { name: 'Terminal input' }).focus()
    await page.keyboard.press('Control+Shift+ArrowUp')
    expect(await page.evaluate('document.activeElement?.getAttribute("aria-label")')).toBe('Back to the panel')
    await page.keyboard.press('Enter')
  })

  it('has the keys that a phone lacks', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByRole('toolbar', { name: 'Keys' }).waitFor()
    await page.getByRole('textbox', { name: 'Terminal input' }).focus()
    // The program says itself that it is in front: bash keeps an interrupt from before that.
    await run(`bash -c 'echo sle"eps"; exec sleep 1000'`)
    await shows(/sleeps/)
    await page.getByRole('button', { name: 'Ctrl' }).click()
    await page.keyboard.type('c')
    await shows(/\^C/)
    expect(await page.getByRole('button', { name: 'Ctrl' }).getAttribute('aria-pressed')).toBe('false')
    await page.getByRole('button', { name: 'Up', exact: true }).click()
    await shows(/sleep 1000[\s\S]*sleep 1000/)
    await page.getByRole('button', { name: 'Ctrl' }).click()
    await page.keyboard.type('c')
    await shows(/\^C[\s\S]*\^C/)
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  it('is told when the shell has ended, and opens another', async () => {
    await page.getByRole('textbox', { name: 'Terminal input' }).focus()
    await run('exit 4')
    await page.getByText('The shell has ended. Its exit code is 4.').waitFor()
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'New terminal' }).click()
    await connected()
    await run('echo se"cond"')
    await shows(/second/)
    await page.getByRole('button', { name: 'End the terminal' }).click()
    await page.getByRole('button', { name: 'Open a terminal' }).waitFor()
    await until('the end of both', async () => (await terminals()).every(({ ended_at }) => ended_at !== null))
  })

  it('starts a sandbox that is asleep, and finds its files', async () => {
    await until('an idle Session', async () => (await api.session(session.id)).phase === 'idle')
    await accounts.test.db.database.query(
      "update leases set expires_at = now() - interval '1 second' where session_id = $1",
      [session.id],
    )
    await page.getByRole('button', { name: 'Start the sandbox' }).waitFor()
    await shoot(page, 'terminal-asleep')
    await page.getByRole('button', { name: 'Start the sandbox' }).click()
    await connected()
    await run('cat notes.md')
    await shows(/cat notes.md\s*notes/)
  })

  it('saw nothing that a policy forbids', () => {
    expect(visitor.complaints).toEqual([])
  })
})
