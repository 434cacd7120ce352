import type { Locator, Page } from 'playwright-core'

/** More stops than any page has before the one that is looked for. */
const furthest = 80

/**
 * Moves the focus to a part of the page by Tab alone, as somebody without a mouse does.
 * @returns count of the presses
 * @throws Error if it is not among the stops, or the way to it is longer than anybody goes
 */
export async function tabTo(page: Page, target: Locator): Promise<number> {
  await target.waitFor()
  const passed: string[] = []
  for (let presses = 0; presses <= furthest; presses++) {
    if (await target.evaluate(element => element === element.ownerDocument.activeElement)) return presses
    await page.keyboard.press('Tab')
    const name: string = await page.locator('html').evaluate(root => {
      const { activeElement } = root.ownerDocument
      return activeElement?.getAttribute('aria-label') ?? activeElement?.textContent ?? ''
    })
    passed.push(name.trim().slice(0, 30))
  }
  throw new Error(`Tab does not lead to ${target}, but over: ${passed.join(', ')}`)
}

/** Goes to a part of the page by Tab and presses Enter there; returns the count of the presses of Tab. */
export async function pressOn(page: Page, target: Locator): Promise<number> {
  const presses = await tabTo(page, target)
  await page.keyboard.press('Enter')
  return presses
}

/** Returns true if some part of the page has the focus, so that the next Tab does not begin at the top. */
export const hasFocus = (page: Page): Promise<boolean> =>
  page.locator('html').evaluate(root => {
    const { activeElement, body } = root.ownerDocument
    return activeElement !== null && activeElement !== body
  })
