import type { Page } from 'playwright-core'
import { password } from './console-page.ts'

/** Opens a path of the console as somebody who has to sign in first. */
export async function openSignedIn(page: Page, url: string, { email }: { readonly email: string }): Promise<void> {
  await page.goto(url)
  await page.getByLabel('Email').and(page.locator('input')).fill(email)
  await page.getByLabel('Password').and(page.locator('input')).fill(password)
  await page.keyboard.press('Enter')
  // The page of the sign-in has a heading, too, and whoever goes on from there at once takes the sign-in back.
  const { origin } = new URL(url)
  const isBack = (url: URL) => url.origin === origin && !/\/(interaction|oidc|cloud)\//.test(url.pathname)
  await page.waitForURL(isBack, { timeout: 120_000 })
  await page.locator('main h1').first().waitFor()
}
