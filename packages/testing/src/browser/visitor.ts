import type { Browser, BrowserContext, Page } from 'playwright-core'
import { launchChromium } from './chromium.ts'

/** Somebody with a browser of their own: its cookies are shared with nobody. */
export interface Visitor extends AsyncDisposable {
  readonly page: Page
  readonly context: BrowserContext
  /** What the browser complained about, in any tab of the service: blocked by a policy, failed to load, insecure, thrown by a script. */
  readonly complaints: readonly string[]
  /** Presses the button whose name begins so, and waits for the next page. */
  press(name: string): Promise<void>
  /** Fills fields by their label, or by the beginning of it. */
  fill(values: Readonly<Record<string, string>>): Promise<void>
  /** Returns the heading of the page. */
  heading(): Promise<string>
}

const previewSite = /^http:\/\/[a-z0-9-]+\.localhost:/

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
  const complaints: string[] = []
  const complain = (tab: Page | null, message: string) => {
    // What agents serve is theirs, and is meant to be refused there.
    if (!previewSite.test(tab?.url() ?? '')) complaints.push(message)
  }
  context.on('weberror', fault => complain(fault.page(), `${fault.error().message} ${fault.page()?.url() ?? ''}`))
  context.on('console', message => {
    // Chromium also reports each page that answers 4xx as a resource that failed to load.
    if (message.type() !== 'error' || message.text().includes('the server responded with a status of')) return
    complain(message.page(), `${message.text()} ${message.location().url}`)
  })
  const page = await context.newPage()
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

/** Opens a window of a browser of its own, with scripts; both end with the stack. */
export async function openVisitor(stack: AsyncDisposableStack): Promise<Visitor> {
  const browser = await launchChromium()
  stack.defer(() => browser.close())
  return stack.use(await newVisitor(browser, { scripts: true }))
}
