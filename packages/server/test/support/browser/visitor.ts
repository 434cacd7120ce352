import type { Browser, BrowserContext, Page } from 'playwright-core'

/** Somebody with a browser of their own: its cookies are shared with nobody. */
export interface Visitor extends AsyncDisposable {
  readonly page: Page
  readonly context: BrowserContext
  /** What the browser complained about: blocked by a policy, failed to load, insecure. */
  readonly complaints: readonly string[]
  /** Presses the button whose name begins so, and waits for the next page. */
  press(name: string): Promise<void>
  /** Fills fields by their label, or by the beginning of it. */
  fill(values: Readonly<Record<string, string>>): Promise<void>
  /** Returns the heading of the page. */
  heading(): Promise<string>
}

/**
 * Opens a browser window as a person with scripts switched off does.
 *
 * @param options `trustsAnyone` accepts certificates of any authority
 */
export async function newVisitor(
  browser: Browser,
  options: { scripts?: boolean; address?: string; trustsAnyone?: boolean } = {},
): Promise<Visitor> {
  const { scripts = false, address, trustsAnyone = false } = options
  const context = await browser.newContext({
    javaScriptEnabled: scripts,
    ignoreHTTPSErrors: trustsAnyone,
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
    ...(address === undefined ? {} : { extraHTTPHeaders: { 'x-forwarded-for': address } }),
  })
  context.setDefaultTimeout(120_000)
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', message => {
    // Chromium also reports each page that answers 4xx as a resource that failed to load.
    if (message.type() !== 'error' || message.text().includes('the server responded with a status of')) return
    complaints.push(`${message.text()} ${message.location().url}`)
  })
  return {
    page,
    context,
    complaints,
    async press(name) {
      await Promise.all([page.waitForEvent('domcontentloaded'), page.getByRole('button', { name }).first().click()])
    },
    async fill(values) {
      for (const [label, value] of Object.entries(values)) {
        // A picture can have a label too.
        await page.getByLabel(label).and(page.locator('input:visible')).fill(value)
      }
    },
    heading: async () => (await page.getByRole('heading', { level: 1 }).textContent()) ?? '',
    [Symbol.asyncDispose]: () => context.close(),
  }
}
