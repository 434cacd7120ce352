import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { newVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { ConsolePage, givePassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let own: Awaited<ReturnType<Accounts['person']>>
let visitor: Visitor
let page: Page
beforeAll(async () => {
  accounts = stack.use(await startAccounts())
  own = await accounts.person({})
  await givePassword(accounts.test.db.database, own.who)
  await accounts.test.db.database.query('update people set email = $2 where id = $1', [
    own.who.personId,
    'ada@example.test',
  ])
  const browser = await launchChromium()
  stack.defer(() => browser.close())
  visitor = stack.use(await newVisitor(browser, { scripts: true }))
  page = visitor.page
  await openSignedIn(page, `${accounts.test.url}/settings`, { email: 'ada@example.test' })
})
afterAll(() => stack.disposeAsync())

const go = (name: string) => page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name }).click()
const attribute = (name: string) => page.locator('html').getAttribute(name)

/** The focus of the page, for a test. */
interface Focused {
  readonly document: { readonly activeElement: { blur(): void; closest(selector: string): object | null } | null }
}

describe('the settings of a person', () => {
  it('begin with who the person is', async () => {
    await page.getByRole('heading', { level: 1, name: 'Profile' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/settings/profile')
    await shoot(page, 'settings-profile')
    expect(await pageFaults(page)).toEqual([])
  })

  it('list the browsers, and sign others out', async () => {
    const other = new ConsolePage(accounts.test.url, own.who.organizationId)
    await other.signIn({ email: 'ada@example.test' })
    expect((await other.get('/cloud/auth/session')).status).toBe(200)
    await go('Browsers')
    await page.getByText('This browser').waitFor()
    await page.getByText('Chrome on Linux').waitFor()
    await shoot(page, 'settings-browsers')
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('button', { name: /^Sign out/ }).click()
    await page.getByRole('button', { name: /^Sign out/ }).waitFor({ state: 'detached' })
    expect((await other.get('/cloud/auth/session')).status).toBe(401)
  })

  it('keep how the page looks in the browser, from the first paint on', async () => {
    await go('Appearance')
    const before = await page.locator('h1').evaluate(heading => heading.getBoundingClientRect().height)
    await page.getByText('Large', { exact: true }).click()
    expect(await page.locator('h1').evaluate(heading => heading.getBoundingClientRect().height)).toBeGreaterThan(before)
    await page.getByText('Reduced', { exact: true }).click()
    await shoot(page, 'settings-appearance')
    expect(await pageFaults(page)).toEqual([])
    await page.reload()
    expect([await attribute('data-density'), await attribute('data-motion')]).toEqual(['large', 'reduced'])
    await page.getByText('Normal', { exact: true }).click()
    expect(await attribute('data-density')).toBe('normal')
  })

  it.each([
    ['light', null, 'light'],
    ['dark', null, 'dark'],
    ['light', 'dark', 'dark'],
    ['dark', 'light', 'light'],
  ] as const)(
    'decide the colours before a script of the page runs: %s, with the choice %s',
    async (system, choice, theme) => {
      const tab = stack.use(await visitor.context.newPage())
      const held = Promise.withResolvers<void>()
      const requested = Promise.withResolvers<void>()
      await tab.emulateMedia({ colorScheme: system })
      await tab.goto(`${accounts.test.url}/robots.txt`)
      await tab.evaluate(
        `${JSON.stringify(choice)} === null || localStorage.setItem('berth.theme', ${JSON.stringify(choice)})`,
      )
      await tab.route('**/assets/index-*.js', async route => {
        requested.resolve()
        await held.promise
        await route.continue()
      })
      await tab.goto(`${accounts.test.url}/settings/appearance`, { waitUntil: 'commit' })
      await requested.promise
      await tab.locator(`html[data-theme=${theme}]`).waitFor({ state: 'attached' })
      // The style sheet comes before the first paint.
      const styled = 'document.styleSheets.length > 0 && document.querySelector("#root") !== null'
      // Playwright's own wait evaluates in a frame of the page, whose policy refuses that.
      await expect.poll(() => tab.evaluate(styled)).toBe(true)
      const canvas = () => tab.evaluate<string>('getComputedStyle(document.body).backgroundColor')
      expect(await tab.locator('#root').textContent()).toMatch(/^\s*Loading Berth…\s*$/)
      const first = await canvas()
      held.resolve()
      await tab.locator('main h1').waitFor()
      expect([await canvas(), await tab.locator('html').getAttribute('data-theme')]).toEqual([first, theme])
      await tab.evaluate("localStorage.removeItem('berth.theme')")
      await tab.close()
    },
  )

  it('list every shortcut, which the palette finds as well', async () => {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('shortcuts')
    await page.getByRole('option', { name: 'Settings: Shortcuts' }).click()
    await page.getByText('Mark it as read').waitFor()
    await shoot(page, 'settings-shortcuts')
    expect(await pageFaults(page)).toEqual([])
  })

  it('turn shortcuts of one character off, and keep the others', async () => {
    const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    const sessions = page.getByRole('heading', { level: 1, name: 'New Session' })
    const rest = () => page.evaluate(() => (globalThis as unknown as Focused).document.activeElement?.blur())
    await page.goto(`${accounts.test.url}/settings/shortcuts`)
    await page.getByRole('radio', { name: 'On' }).waitFor({ state: 'attached' })
    await rest()
    await page.keyboard.press('?')
    await list.waitFor()
    await shoot(page, 'shortcuts')
    expect(await pageFaults(page)).toEqual([])
    await page.keyboard.press('Escape')
    await list.waitFor({ state: 'detached' })
    await page.getByRole('radio', { name: 'Off' }).check({ force: true })
    await page.reload()
    await page.getByRole('radio', { name: 'Off', checked: true }).waitFor({ state: 'attached' })
    await rest()
    for (const key of ['?', 'c', 'Control+k']) await page.keyboard.press(key)
    // The last has answered, so the others have not.
    await page.getByRole('combobox').waitFor()
    expect([await list.count(), await sessions.count()]).toEqual([0, 0])
    await page.keyboard.press('Escape')
    await page.getByRole('radio', { name: 'On' }).check({ force: true })
    await rest()
    await page.keyboard.press('c')
    await sessions.waitFor()
  })

  it('begin with words on a slow line, before any script has come', async () => {
    const slow = await visitor.context.newPage()
    // The theme's script is one of the page's first bytes; the others come never.
    await slow.route(/\/assets\/(?!theme-)[^/]+\.js$/, () => {})
    await slow.goto(`${accounts.test.url}/settings`, { waitUntil: 'commit' })
    await slow.getByText('Loading Berth…').waitFor()
    await slow.close()
    await page.goto(`${accounts.test.url}/settings`)
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    expect(await page.getByText('Loading Berth…').count()).toBe(0)
  })

  it('leave the keyboard in the page that a link in the page before leads to', async () => {
    await page.goto(`${accounts.test.url}/environments`)
    await page.getByRole('link', { name: 'New environment' }).first().press('Enter')
    await page.waitForURL('**/environments/new')
    const inMain = () => (globalThis as unknown as Focused).document.activeElement?.closest('main') != null
    await expect.poll(() => page.evaluate(inMain)).toBe(true)
  })

  it('are not needed to learn why a sign-in failed', async () => {
    await page.goto(`${accounts.test.url}/sign-in?error=unavailable`)
    await page.getByRole('heading', { name: 'Signing in is not possible now' }).waitFor()
    await page.getByRole('link', { name: 'Sign in' }).waitFor()
    await page.goto(`${accounts.test.url}/sign-in?error=${encodeURIComponent('<script>')}`)
    await page.getByRole('heading', { name: 'Sign in to go on' }).waitFor()
  })

  it('never met the policy of the page', () => {
    expect(visitor.complaints).toEqual([])
  })
})
