import type { Database } from '@berth/platform/storage/postgres/database.ts'
import type { Browser, Locator, Page } from 'playwright-core'
import type { SignedIn } from '../accounts/signer.ts'
import { newVisitor, type Visitor } from '../browser/visitor.ts'
import { password } from './console-page.ts'

/** Somebody at the pages of an organization. */
export class Administrator implements AsyncDisposable {
  readonly visitor: Visitor
  readonly page: Page
  readonly #origin: string
  readonly #who: Pick<SignedIn, 'email' | 'personId'>

  private constructor(visitor: Visitor, origin: string, who: Pick<SignedIn, 'email' | 'personId'>) {
    this.visitor = visitor
    this.page = visitor.page
    this.#origin = origin
    this.#who = who
  }

  /** Opens a page in a browser of their own, signing in on the way. */
  static async open(
    browser: Browser,
    origin: string,
    who: Pick<SignedIn, 'email' | 'personId'>,
    path: string,
  ): Promise<Administrator> {
    const made = new Administrator(await newVisitor(browser, { scripts: true }), origin, who)
    await made.page.goto(origin + path)
    await made.signIn()
    return made
  }

  goto(path: string): Promise<unknown> {
    return this.page.goto(this.#origin + path)
  }

  /** Fills in the page of the account service, which may know the email already. */
  async signIn(): Promise<void> {
    const secret = this.page.getByLabel('Password').and(this.page.locator('input'))
    await secret.waitFor()
    const email = this.page.getByLabel('Email').and(this.page.locator('input'))
    if ((await email.count()) > 0) await email.fill(this.#who.email)
    await secret.fill(password)
    await this.page.keyboard.press('Enter')
  }

  /** Lets their sign-ins be an hour old. */
  async age(db: Database): Promise<void> {
    await db.query(`update console_sessions set signed_in_at = signed_in_at - interval '1 hour' where person_id = $1`, [
      this.#who.personId,
    ])
  }

  press(name: string): Promise<void> {
    return this.page.getByRole('button', { name, exact: true }).click()
  }

  row(text: string): Locator {
    return this.page.getByRole('row').filter({ hasText: text })
  }

  dialog(name: string | RegExp): Locator {
    return this.page.getByRole('dialog', { name })
  }

  heading(name: string): Promise<void> {
    return this.page.getByRole('heading', { name, exact: true }).first().waitFor()
  }

  shows(text: string | RegExp): Promise<void> {
    return this.page.getByText(text).first().waitFor()
  }

  gone(text: string): Promise<void> {
    return this.page.getByText(text).first().waitFor({ state: 'detached' })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.visitor[Symbol.asyncDispose]()
  }
}
