import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import axe, { type Result, type RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'

/** Screenshots are written here, if it is set. */
const shots = process.env.BERTH_SCREENSHOTS

/** A font that nothing has asked for yet is not among those that `ready` waits for. */
export const fontsLoaded = `Promise.all([...document.fonts].map(font => font.load())).then(() => {})`

/** Writes a screenshot of the page in both themes and on a phone, if the environment asks for screenshots. */
export async function shoot(page: Page, name: string): Promise<void> {
  if (shots === undefined) return
  await mkdir(shots, { recursive: true })
  // The account service's pages have no theme of their own to wait for.
  const isThemed = (await page.locator('html[data-theme]').count()) > 0
  for (const [variant, colorScheme, width, height] of [
    ['light', 'light', 1440, 900],
    ['dark', 'dark', 1440, 900],
    ['phone', 'light', 390, 844],
  ] as const) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height })
    if (isThemed) await page.locator(`html[data-theme=${colorScheme}]`).waitFor()
    await page.evaluate(fontsLoaded)
    await page.screenshot({ path: join(shots, `${name}-${variant}.png`), animations: 'disabled' })
  }
  await page.setViewportSize({ width: 1280, height: 800 })
}

/** Returns what is wrong with the page for people: on a phone in the dark, and on a wide screen in the light. */
export async function pageFaults(page: Page): Promise<string[]> {
  const found: string[] = []
  for (const [colorScheme, width, height] of [
    ['dark', 390, 844],
    ['light', 1280, 800],
  ] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.setViewportSize({ width, height })
    await page.locator(`html[data-theme=${colorScheme}]`).waitFor()
    const violations = await violationsOf(page, { except: 'target-size' })
    // What a bar at the window's edge covers is reached by scrolling; in a tall window no bar covers anything.
    await page.setViewportSize({ width, height: 6000 })
    await settled(page)
    violations.push(...(await violationsOf(page, { only: 'target-size' })))
    await page.setViewportSize({ width, height })
    for (const { id, nodes } of violations)
      found.push(`${colorScheme}: ${id}: ${nodes.map(node => `${node.html} ${node.failureSummary}`).join(' ')}`)
    const tooWide = await page.locator('html').evaluate(root => root.scrollWidth - root.clientWidth)
    if (tooWide > 0) found.push(`is ${tooWide} px too wide at ${width} px`)
  }
  return found
}

/** Returns what is wrong with the page for people in the theme and the window that it has, but for the size of targets. */
export async function themeFaults(page: Page): Promise<string[]> {
  const violations = await violationsOf(page, { except: 'target-size' })
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(node => node.html).join(' ')}`)
}

/** Waits until targets stay in their places for three frames: rows are placed anew once their new heights are known. */
async function settled(page: Page): Promise<void> {
  const places = () =>
    page.locator('a, button, input, select, textarea').evaluateAll(targets =>
      targets
        .map(target => target.getBoundingClientRect())
        .map(({ x, y, width, height }) => [x, y, width, height].join())
        .join(' '),
    )
  for (let [seen, same] = [await places(), 0]; same < 3; ) {
    await page.evaluate('new Promise(resolve => requestAnimationFrame(resolve))')
    const now = await places()
    same = now === seen ? same + 1 : 0
    seen = now
  }
}

/** Judges the page by every rule of WCAG 2.2 AA and of good practice, except one, or by one alone. */
async function violationsOf(page: Page, rule: { except: string } | { only: string }): Promise<Result[]> {
  const options: RunOptions =
    'only' in rule
      ? { runOnly: [rule.only] }
      : {
          runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'] },
          rules: { [rule.except]: { enabled: false } },
        }
  // It stays in the page until the next load.
  if (!(await page.evaluate<boolean>(`'axe' in globalThis`))) await page.evaluate(axe.source)
  const { violations } = await page.evaluate(options => {
    const { axe: inPage } = globalThis as unknown as { axe: typeof axe }
    return inPage.run(options)
  }, options)
  return violations
}
