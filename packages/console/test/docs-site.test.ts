import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { newVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import axe from 'axe-core'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

let service: TestService
let browser: Browser
let visitor: Visitor
beforeAll(async () => {
  service = await startTestService({ variables: { BERTH_ROLES: 'api' } })
  browser = await launchChromium()
  visitor = await newVisitor(browser, { scripts: true })
})
afterAll(async () => {
  await browser?.close()
  await service?.[Symbol.asyncDispose]()
})

const get = (path: string, headers = {}) => fetch(`${service.url}${path}`, { headers, redirect: 'manual' })

describe('/docs', () => {
  test('leads to its root, and serves pages with the strictest headers', async () => {
    const moved = await get('/docs')
    expect([moved.status, moved.headers.get('location')]).toEqual([308, '/docs/'])
    const response = await get('/docs/', { 'accept-encoding': 'br' })
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-encoding': 'br',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    })
    expect(response.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self'; base-uri 'none'; " +
        "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    )
    const text = await response.text()
    expect(text).toContain('<title>Berth: documentation</title>')
    const tag = response.headers.get('etag') ?? ''
    expect((await get('/docs/', { 'if-none-match': tag })).status).toBe(304)
    const [, style] = /href="(assets\/site-[^"]+\.css)"/.exec(text) ?? []
    expect((await get(`/docs/${style}`)).headers.get('cache-control')).toContain('immutable')
  })

  test('takes a page without its suffix, and knows no other file', async () => {
    expect((await get('/docs/concepts')).status).toBe(200)
    expect((await get('/docs/decisions/')).status).toBe(200)
    for (const path of ['nothing', '.inputs', '..%2f..%2fpackage.json', '../../package.json', 'concepts.html.br/x']) {
      expect((await get(`/docs/${path}`)).status).toBe(404)
    }
  })
})

describe('in a browser', () => {
  test.each(['', 'interactions.html', 'gateway.html'])(
    '%s has no fault in either theme, and fits a phone',
    async path => {
      const { page, complaints } = visitor
      const faults: string[] = []
      for (const [colorScheme, width, height] of [
        ['light', 1400, 900],
        ['dark', 390, 844],
      ] as const) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height })
        await page.goto(`${service.url}/docs/${path}`)
        await page.evaluate(axe.source)
        const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run())
        for (const { id, nodes } of violations)
          faults.push(`${colorScheme} ${id}: ${nodes.map(({ html }) => html).join(' ')}`)
        faults.push(
          ...(await page.evaluate<string[]>(`
        document.documentElement.scrollWidth > innerWidth ? ['is wider than ' + innerWidth] : []
      `)),
        )
      }
      expect([faults, complaints]).toEqual([[], []])
    },
  )

  test('the search finds a setting and a heading without a network, and the keyboard opens them', async () => {
    const { page, complaints } = visitor
    await page.setViewportSize({ width: 1400, height: 900 })
    await page.goto(`${service.url}/docs/decisions/0001-acp-without-the-sdk-connection.html`)
    await page.keyboard.press('/')
    await page.keyboard.type('BERTH_DATA_DIR')
    await page.locator('#found a').first().waitFor()
    await page.getByRole('searchbox').fill('webhook sign')
    await page.locator('#found a', { hasText: 'Webhooks' }).first().waitFor()
    const { violations } = await page
      .evaluate(axe.source)
      .then(() => page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run()))
    expect(violations.map(({ id }) => id)).toEqual([])
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/docs\/webhooks\.html#/)
    expect(complaints).toEqual([])
  })

  test('the search puts a guide before pages on how it works, and those before decisions', async () => {
    const { page } = visitor
    await page.goto(`${service.url}/docs/`)
    await page.getByRole('searchbox').fill('cache')
    await page.locator('#found a').first().waitFor()
    const places = await page.locator('#found a').evaluateAll(links => links.map(link => String(link)))
    const first = (folder: RegExp) => places.findIndex(place => folder.test(place))
    const [guide, inside, decision] = [
      /docs\/(environments|gateway)\.html/,
      /docs\/internals\//,
      /docs\/decisions\//,
    ].map(first)
    expect(guide).toBe(0)
    expect(inside).toBeGreaterThan(0)
    // There may be so many others that none is shown.
    expect(decision === -1 ? places.length : decision).toBeGreaterThan(inside ?? 0)
  })

  test('a chosen theme stays on the next page', async () => {
    const { page } = visitor
    await page.emulateMedia({ colorScheme: 'light' })
    await page.goto(`${service.url}/docs/`)
    await page.getByRole('button', { name: 'Change the colours' }).click()
    await page.goto(`${service.url}/docs/concepts.html`)
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark')
  })
})
