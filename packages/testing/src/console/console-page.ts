import type { ConsoleIdentity, Permission, Role } from '@berth/contract'
import { hashPassword } from '@berth/core/accounts/people/password.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import { Browser, type Shown } from '../accounts/browser.ts'
import { type SignedIn, signInPerson } from '../accounts/signer.ts'
import type { Answer } from '../api/api.ts'
import { mustConform } from '../api/conformance.ts'

export const password = 'correct horse battery'
const passwordHash = hashPassword(password)

/** A member of an organization who can sign in with `password`. */
export async function personWithPassword(
  db: Database,
  organizationId: string,
  options: { role?: Role; permissions?: readonly Permission[] } = {},
): Promise<SignedIn> {
  const person = await signInPerson(db, organizationId, options)
  await givePassword(db, person)
  return person
}

/** Lets a person sign in with `password`. */
export async function givePassword(db: Database, { personId }: Pick<SignedIn, 'personId'>): Promise<void> {
  await db.query('update people set password_hash = $2 where id = $1', [personId, await passwordHash])
}

/** Headers in place of those that a browser would send; null leaves one out. */
type Changes = Readonly<Record<string, string | null>>

/** The console's page in a browser: it keeps cookies, and calls `/cloud` as the page's script does. */
export class ConsolePage {
  readonly origin: string
  readonly browser: Browser
  /** The organization that it names. */
  organizationId: string | null

  constructor(origin: string, organizationId: string | null, browser = new Browser(origin)) {
    this.origin = origin
    this.organizationId = organizationId
    this.browser = browser
  }

  /**
   * Goes through the account service's pages, if they ask for anything.
   * @returns the page that is shown then
   * @throws if the address of this browser has signed in too often, or the account service did not answer in time
   */
  async signIn(
    person: Pick<SignedIn, 'email'>,
    begin = '/cloud/auth/sign-in',
    changed: Readonly<Record<string, string>> = {},
  ): Promise<Shown> {
    let page = await this.browser.get(begin)
    if (page.text.includes('name="password"')) {
      page = await this.browser.submit(page, { email: person.email, password, ...changed })
      if (page.status === 429) throw new Error('too many sign-ins from one address: set BERTH_TRUSTED_PROXIES')
    }
    if (page.url.endsWith('/sign-in?error=unavailable')) throw new Error('the account service did not answer in time')
    return page
  }

  /** Proves again who is at the browser, where a recent sign-in is asked for. @returns the page that is shown then */
  async stepUp(person: Pick<SignedIn, 'email'>, returnTo = '/'): Promise<Shown> {
    const begun = await this.call('POST', '/cloud/auth/step-up', { returnTo })
    if (begun.status !== 200) throw new Error(`no step up: ${begun.status} ${begun.text}`)
    const [pair = ''] = begun.headers.get('set-cookie')?.split(';') ?? []
    const [name = '', value = ''] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]
    this.browser.cookies.set(name, { value, path: '/' })
    return this.signIn(person, String(begun.body['url']))
  }

  /** The cookie of the session, as `name=value`; null if there is none. */
  get cookie(): string | null {
    const [found] = [...this.browser.cookies].filter(([name]) => /svc_console/.test(name))
    return found === undefined ? null : `${found[0]}=${found[1].value}`
  }

  async call(method: string, path: string, body?: unknown, changes: Changes = {}): Promise<Answer> {
    const sent: Record<string, string | null> = {
      ...this.browser.headers,
      'sec-fetch-site': 'same-origin',
      'x-svc-organization': path.startsWith('/cloud/auth/') ? null : this.organizationId,
      cookie: this.cookie,
      'content-type': body === undefined ? null : 'application/json',
      ...changes,
    }
    const headers = Object.entries(sent).filter((pair): pair is [string, string] => pair[1] !== null)
    const response = await fetch(this.origin + path, {
      method,
      headers,
      redirect: 'manual',
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
    if (isJson) mustConform({ method, path, status: response.status, body: JSON.parse(text) })
    return { status: response.status, body: isJson ? JSON.parse(text) : {}, text, headers: response.headers }
  }

  get(path: string, changes: Changes = {}): Promise<Answer> {
    return this.call('GET', path, undefined, changes)
  }

  async identity(): Promise<ConsoleIdentity> {
    const { status, body } = await this.get('/cloud/auth/session')
    if (status !== 200) throw new Error(`nobody is signed in: ${status} ${JSON.stringify(body)}`)
    return body as unknown as ConsoleIdentity
  }
}
