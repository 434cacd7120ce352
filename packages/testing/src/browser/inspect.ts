import axe from 'axe-core'
import type { Page } from 'playwright-core'

const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/**
 * Returns what is wrong with a page for people: faults that axe finds on a wide screen in the light scheme and on a
 * phone in the dark one, and what every page has. The page must run scripts; they reach it past its own policy.
 */
export async function inspect(page: Page): Promise<string[]> {
  const faults: string[] = []
  for (const [colorScheme, width, height] of [
    ['light', 1280, 800],
    ['dark', 390, 844],
  ] as const) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height })
    await page.evaluate(axe.source)
    const { violations } = await page.evaluate(tags => {
      const { axe: inPage } = globalThis as unknown as { axe: typeof axe }
      return inPage.run({ runOnly: { type: 'tag', values: tags } })
    }, rules)
    for (const { id, nodes } of violations)
      faults.push(`${colorScheme}: ${id}: ${nodes.map(({ html }) => html).join(' ')}`)
    const tooWide = await page.locator('html').evaluate(root => root.scrollWidth - root.clientWidth)
    if (tooWide > 0) faults.push(`is ${tooWide} px too wide at ${width} px`)
  }
  if ((await page.locator('html').getAttribute('lang')) !== 'en') faults.push('names no language')
  if ((await page.title()) !== `${await page.locator('h1').textContent()} · Berth`) faults.push('has another title')
  if ((await page.locator('script').count()) > 0) faults.push('has a script')
  if ((await page.locator('meta[name=viewport]').count()) === 0) faults.push('has no viewport')
  return faults
}
