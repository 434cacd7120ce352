import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { fontsLoaded } from './page-checks.ts'

const shots = process.env.BERTH_SCREENSHOTS

/** Writes a picture of the page in both themes, if the environment asks for pictures. */
export async function shootPhone(page: Page, name: string): Promise<void> {
  if (shots === undefined) return
  await mkdir(shots, { recursive: true })
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.locator(`html[data-theme=${colorScheme}]`).waitFor()
    await page.evaluate(fontsLoaded)
    await page.screenshot({ path: join(shots, `${name}-phone-${colorScheme}.png`), animations: 'disabled' })
  }
}

/** Returns what a phone cannot show: a page that scrolls sideways, and text that ends at an edge without saying so. */
export async function widthFaults(page: Page): Promise<string[]> {
  return page.locator('html').evaluate(root => {
    const document = root.ownerDocument
    const { getComputedStyle, innerWidth, NodeFilter } = document.defaultView
    const faults: string[] = []
    for (const each of [
      root,
      document.body,
      document.querySelector('main'),
      ...root.querySelectorAll('main .overflow-y-auto'),
    ]) {
      if (each !== null && each.scrollWidth > each.clientWidth)
        faults.push(
          `${each.tagName.toLowerCase()}.${String(each.className).slice(0, 40)} is ${each.scrollWidth - each.clientWidth} px too wide`,
        )
    }
    for (const current of document.querySelectorAll('nav [aria-current]')) {
      const { left, right } = current.getBoundingClientRect()
      if (current.checkVisibility() && (left < 0 || right > innerWidth))
        faults.push(`has its current link "${current.textContent}" out of sight`)
    }
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const range = document.createRange()
    for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
      const element = text.parentElement
      const shown = text.textContent?.trim() ?? ''
      if (element === null || shown === '' || !element.checkVisibility({ visibilityProperty: true })) continue
      range.selectNodeContents(text)
      const { left, right, width } = range.getBoundingClientRect()
      if (width <= 2) continue
      let edges: { left: number; right: number; isAllowed: boolean } | null = null
      for (let at = element; at !== null && edges === null; at = at.parentElement) {
        const style = getComputedStyle(at)
        const box = at.getBoundingClientRect()
        if (box.width <= 2 || style.clipPath !== 'none')
          edges = { left: Number.NEGATIVE_INFINITY, right: Number.POSITIVE_INFINITY, isAllowed: true }
        else if (/auto|scroll/.test(style.overflowX) && at.scrollWidth > at.clientWidth)
          edges = { left: 0, right: 0, isAllowed: true }
        else if (style.overflowX !== 'visible')
          edges = { left: box.left, right: box.right, isAllowed: style.textOverflow === 'ellipsis' }
      }
      const { left: from, right: to, isAllowed } = edges ?? { left: 0, right: innerWidth, isAllowed: false }
      if (!isAllowed && (right > to + 1 || left < from - 1)) faults.push(`cuts "${shown.slice(0, 40)}"`)
    }
    return faults
  })
}
