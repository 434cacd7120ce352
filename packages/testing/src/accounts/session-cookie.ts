import type { Browser } from './browser.ts'

/** Returns the id of the provider's session in a browser. */
export const sessionCookieOf = ({ cookies }: Browser): string | undefined =>
  [...cookies].find(([name]) => name.includes('berth_session_') && !name.endsWith('.sig'))?.[1].value

/** Returns a copy of a browser with the cookies that it has now. */
export function copyOf(browser: Browser, copy: Browser): Browser {
  for (const [name, cookie] of browser.cookies) copy.cookies.set(name, { ...cookie })
  return copy
}
