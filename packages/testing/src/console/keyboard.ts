import type { Page } from 'playwright-core'
import { patience } from '../patience.ts'

/** What of the page Tab has to reach; a group of radio buttons is one stop, and the arrows do the rest. */
const stops = `a[href], button, input, select, textarea, summary, [contenteditable=true], [tabindex]`

/** What the page says of the element that has the focus. */
interface Focused {
  /** Its place among the stops; -1: it was not there at first, such as a row that scrolling brought. */
  readonly at: number
  readonly name: string
  readonly isSeen: boolean
  /** True if it lies outside of the part that is gone through. */
  readonly isOutside: boolean
  /** True if it had the focus before: a date has several parts, which Tab goes through one by one. */
  readonly isSame: boolean
  readonly style: string
}

/**
 * Goes through a page by Tab from its first stop on, and returns what is wrong for somebody who has nothing but a keyboard:
 * stops that are not reached or come out of order, a focus that nobody can see, and places that do not let go.
 *
 * @param part the part to go through, such as `main` where the frame around it was gone through before
 */
export async function keyboardFaults(page: Page, part = 'body'): Promise<string[]> {
  const html = page.locator('html')
  const names: string[] = await html.evaluate(
    (root, { selector, part: within }) => {
      // The frame of the page before is still there, with its numbers.
      root.lastOfTest = undefined
      for (const element of root.querySelectorAll(selector)) element.stopOfTest = undefined
      root.partOfTest = root.querySelector(within)
      const found = [...root.partOfTest.querySelectorAll(selector)].filter(
        element =>
          element.tabIndex >= 0 &&
          !element.disabled &&
          element.type !== 'radio' &&
          element.checkVisibility({ visibilityProperty: true }) &&
          element.closest('[inert]') === null,
      )
      for (const [at, element] of found.entries()) Object.assign(element, { stopOfTest: at })
      found[0]?.focus()
      return found.map(element => {
        const label: string = element.getAttribute('aria-label') ?? element.textContent ?? ''
        return `${element.tagName.toLowerCase()} "${label.trim().slice(0, 40)}"`
      })
    },
    { selector: stops, part },
  )
  const faults: string[] = []
  const reached = new Set<number>()
  let before: Focused | null = null
  for (let pressed = 0; pressed < names.length + 60; pressed++) {
    const now = await focused(page)
    if (before !== null && now.left === before.style) faults.push(`shows no focus on ${before.name}`)
    const { focus } = now
    if (focus === null || focus.isOutside || (focus.at === 0 && pressed > 0)) {
      before = null
      break
    }
    if (!focus.isSeen) faults.push(`hides ${focus.name} although it has the focus`)
    if (before !== null && focus.at >= 0 && before.at >= 0 && focus.at < before.at)
      faults.push(`goes back from ${before.name} to ${focus.name}`)
    if (focus.at >= 0) reached.add(focus.at)
    // The browser draws the ring of the later parts inside the field.
    if (!focus.isSame) before = focus
    await page.keyboard.press('Tab')
  }
  if (before !== null) faults.push(`does not let go of ${before.name}`)
  for (const [at, name] of names.entries()) if (!reached.has(at)) faults.push(`does not reach ${name}`)
  return faults
}

/** Returns what has the focus, and how the one that had it before looks now. */
function focused(page: Page): Promise<{ readonly focus: Focused | null; readonly left: string | null }> {
  return page.locator('html').evaluate(root => {
    const document = root.ownerDocument
    const { getComputedStyle } = document.defaultView
    // A ring may be drawn by the element, by what frames it, or by what stands for a hidden box.
    const styleOf = (element: typeof root): string => {
      const frames = [element, element.nextElementSibling]
      for (let up = element.parentElement; up !== null && frames.length < 5; up = up.parentElement) frames.push(up)
      return frames
        .map(each => {
          if (each === null) return ''
          const style = getComputedStyle(each)
          return [style.outline, style.boxShadow, style.borderColor, style.backgroundColor].join()
        })
        .join('|')
    }
    const element = document.activeElement
    const last = root.lastOfTest
    const isSame = last === element
    const left = last?.isConnected === true && !isSame ? styleOf(last) : null
    if (element === null || element === document.body || element === root) return { focus: null, left }
    root.lastOfTest = element
    const { left: x, top: y, width, height } = element.getBoundingClientRect()
    const isSeen =
      width <= 2 ||
      [0.5, 0.1, 0.9].some(across =>
        [0.5, 0.1, 0.9].some(down => {
          const at = document.elementFromPoint(x + width * across, y + height * down)
          return at !== null && (element.contains(at) || at.contains(element))
        }),
      )
    const label: string = element.getAttribute('aria-label') ?? element.textContent ?? ''
    const name = `${element.tagName.toLowerCase()} "${label.trim().slice(0, 40)}"`
    const isOutside = !root.partOfTest.contains(element)
    return { focus: { at: element.stopOfTest ?? -1, name, isSeen, isOutside, isSame, style: styleOf(element) }, left }
  })
}

/** Opens a dialog by the keyboard and leaves it by Esc; returns what is wrong. */
export async function dialogFaults(page: Page, opener: string): Promise<string[]> {
  const faults: string[] = []
  const button = page
    .getByRole('button', { name: opener })
    .or(page.getByRole('link', { name: opener }))
    .first()
  await button.focus()
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog').or(page.getByRole('alertdialog')).first()
  await dialog.waitFor()
  const holds = () => dialog.evaluate(shown => shown.contains(shown.ownerDocument.activeElement))
  // It takes the focus a frame after it is shown.
  await within3s(page, holds)
  for (let pressed = 0; pressed < 25; pressed++) {
    await page.keyboard.press('Tab')
    // Behind its last stop is one that hands the focus on to the first, a frame later.
    await within3s(page, holds)
    if (!(await holds())) {
      const outside = await page.locator('html').evaluate(root => root.ownerDocument.activeElement?.outerHTML ?? '')
      faults.push(`lets the focus out of the dialog of ${opener} to ${outside.slice(0, 120)}`)
      break
    }
  }
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  const isBack = () => button.evaluate(element => element === element.ownerDocument.activeElement)
  await within3s(page, isBack)
  if (!(await isBack())) faults.push(`does not return the focus to ${opener}`)
  return faults
}

/** Lets frames pass until a condition holds, or three seconds are over. */
async function within3s(page: Page, holds: () => Promise<boolean>): Promise<void> {
  const isLongEnough = patience(3_000)
  while (!(await holds()) && !isLongEnough()) await page.evaluate('new Promise(requestAnimationFrame)')
}
