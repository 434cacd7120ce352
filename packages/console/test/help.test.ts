import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { givePassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let visitor: Visitor
let page: Page
beforeAll(async () => {
  accounts = stack.use(await startAccounts())
  const own = await accounts.person({ role: 'admin' })
  await givePassword(accounts.test.db.database, own.who)
  visitor = await openVisitor(stack)
  page = visitor.page
  await openSignedIn(page, `${accounts.test.url}/organization/members`, own.who)
})
afterAll(() => stack.disposeAsync())

const html = { accept: 'text/html,application/xhtml+xml' }

describe('help', () => {
  it('is a menu on every page: documentation, reference, shortcuts, status and version', async () => {
    await page.getByRole('button', { name: 'Help' }).click()
    const items = await page.getByRole('menuitem').allTextContents()
    expect(items.map(item => item.replace(/[\d.]+/, 'X').replace(/\?$/, ''))).toEqual([
      'Documentation',
      'API reference',
      'Keyboard shortcuts',
      'Status',
      'Berth X: what is new',
    ])
    await shoot(page, 'help-menu')
    await page.getByRole('menuitem', { name: 'Keyboard shortcuts' }).click()
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await page.keyboard.press('Escape')
  })

  it('is a page of the settings for screens without the menu', async () => {
    await page.goto(`${accounts.test.url}/settings/help`)
    await page.getByRole('link', { name: /API reference/ }).waitFor()
    await shoot(page, 'settings-help')
    expect(await pageFaults(page)).toEqual([])
  })

  it('leads from each section to the page about it', async () => {
    const links: string[] = []
    for (const section of [
      'members',
      'integrations',
      'installations',
      'triggers',
      'apps',
      'webhooks',
      'git',
      'models',
      'limits',
      'compute',
      'audit',
      'health',
    ]) {
      await page.goto(`${accounts.test.url}/organization/${section}`)
      const link = page.getByRole('link', { name: /^Learn more/ })
      links.push((await link.getAttribute('href')) ?? section)
    }
    for (const link of new Set(links)) {
      const [path = '', anchor] = link.split('#')
      const answer = await fetch(`${accounts.test.url}${path}`)
      expect([link, answer.status]).toEqual([link, 200])
      if (anchor !== undefined) expect(await answer.text()).toContain(` id="${anchor}"`)
    }
  })
})

describe('the palette', () => {
  const search = async (text: string) => {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill(text)
  }

  it.each([
    ['api key', 'Organization: Integrations'],
    ['token', 'Organization: Integrations'],
    ['invite', 'Organization: Members'],
    ['budget', 'Organization: Limits'],
  ])('finds what people call %j', async (query, label) => {
    await page.goto(`${accounts.test.url}/organization/members`)
    await page.locator('main h1').first().waitFor()
    await search(query)
    await page.getByRole('option', { name: label }).waitFor()
    await page.keyboard.press('Escape')
  })

  it('finds what the documentation says', async () => {
    await page.goto(`${accounts.test.url}/organization/members`)
    await page.locator('main h1').first().waitFor()
    await search('how long does a sandbox live')
    await page
      .getByRole('option', { name: /When a sandbox runs/ })
      .first()
      .waitFor()
    await shoot(page, 'palette-docs')
    await page.keyboard.press('Escape')
  })
})

describe('an address that is not there', () => {
  it.each(['/nowhere/at/all', '/docs/nope', '/docs/a/b', '/v1/docs/nope', '/v1/docs/a/b'])(
    'is a page for a browser: %s',
    async path => {
      const answer = await fetch(`${accounts.test.url}${path}`, { headers: html })
      expect([answer.status, answer.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(await answer.text()).toContain('No such page')
    },
  )

  it.each(['/v1/nope', '/v1/docsnope', '/cloud/nope', '/api/nope'])('stays an answer for programs: %s', async path => {
    const answer = await fetch(`${accounts.test.url}${path}`, { headers: html })
    expect(answer.headers.get('content-type')).toMatch(/^application.json/)
  })

  it('has no fault in either theme', async () => {
    await page.goto(`${accounts.test.url}/nowhere`)
    await page.getByRole('heading', { name: 'No such page' }).waitFor()
    await shoot(page, 'lost')
    // A load that fails throws.
    const loadsInter = "document.fonts.load('16px Inter').then(({ length }) => length)"
    for (const path of ['/nowhere', '/v1/docs', '/docs/']) {
      await page.goto(`${accounts.test.url}${path}`)
      expect([path, await page.evaluate(loadsInter)]).toEqual([path, 1])
    }
    await page.goto(`${accounts.test.url}/docs/a/nope`)
    await page.getByRole('heading', { name: 'No such page' }).waitFor()
  })
})

it('the page never met its policy', () => {
  expect(visitor.complaints.filter(complaint => !complaint.includes('404'))).toEqual([])
})
