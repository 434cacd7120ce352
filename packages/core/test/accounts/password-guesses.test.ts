import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { Browser, pkce } from '@berth/testing/accounts/browser.ts'
import { CloudClient } from '@berth/testing/accounts/client.ts'
import { signInPerson } from '@berth/testing/accounts/signer.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issueInvitation, issueReset } from '../../src/accounts/links/one-time-link.ts'
import { hashPassword } from '../../src/accounts/people/password.ts'

const password = 'correct horse battery'
let accounts: Accounts
let client: CloudClient
let hashed: string
beforeAll(async () => {
  accounts = await startAccounts({ variables: { BERTH_TRUSTED_PROXIES: '127.0.0.1' } })
  client = new CloudClient(accounts.test.url)
  hashed = await hashPassword(password)
})
afterAll(() => accounts[Symbol.asyncDispose]())

const change = (text: string, values: readonly unknown[] = []) => accounts.test.db.database.query(text, values)
const newBrowser = () => new Browser(accounts.test.url)

async function newPerson() {
  const person = await signInPerson(accounts.test.db.database, accounts.test.tenant.organizationId)
  await change('update people set password_hash = $2, email_proven_at = now() where id = $1', [person.personId, hashed])
  return { ...person, password }
}
type Person = Awaited<ReturnType<typeof newPerson>>

/** Tries a password at a sign-in. @returns the status; 200 is the page that goes on */
async function attempt(email: string, tried: string, browser = newBrowser()) {
  const page = await browser.get(client.authorizeUrl(pkce().challenge, { prompt: 'login' }))
  return (await browser.submit(page, { email, password: tried })).status
}

/** Guesses from five networks, until nobody may guess from a sixth. */
async function guess(email: string) {
  for (let n = 0; n < 5; n++) expect(await attempt(email, `guess ${n}`)).toBe(401)
  expect(await attempt(email, 'one more')).toBe(429)
}

/** A browser in which the person has signed in once, and whose session has ended. */
async function knownBrowser({ email }: Person) {
  const browser = newBrowser()
  expect(await attempt(email, password, browser)).toBe(200)
  for (const name of browser.cookies.keys()) if (name.includes('session')) browser.cookies.delete(name)
  return browser
}

describe('strangers who guess at a password', () => {
  it('do not keep its person out of a browser in which they have signed in before', async () => {
    const person = await newPerson()
    const browser = await knownBrowser(person)
    await guess(person.email)
    expect(await attempt(person.email, password)).toBe(429)
    expect(await attempt(person.email, password, browser)).toBe(200)
  })

  it('do not keep them from changing their account there, nor from accepting an invitation', async () => {
    const person = await newPerson()
    const browser = await knownBrowser(person)
    await guess(person.email)
    const page = await browser.submit(await browser.get('/account/password'), person)
    expect((await browser.submit(page, { password, 'new-password': 'short' })).status).toBe(422)
    const { organizationId } = (await accounts.test.newTenant()).tenant
    const invited = { organizationId, email: person.email, role: 'member', permissions: [] } as const
    const { secret } = await issueInvitation(accounts.test.db.database, invited, null, new Date())
    const joining = async (from: Browser) =>
      (await from.submit(await from.get(`/links/${secret}`), { password })).status
    expect(await joining(newBrowser())).toBe(429)
    expect(await joining(browser)).toBe(200)
  })

  it('gain nothing by another spelling that the database takes for the same email', async () => {
    const person = await newPerson()
    const email = person.email.replace('robin', 'rİbin')
    await change('update people set email = $2 where id = $1', [person.personId, email.replace('İ', 'i')])
    await guess(email.replace('İ', 'i'))
    expect(await attempt(email, password)).toBe(429)
    expect(await attempt(email.toUpperCase(), password)).toBe(429)
  })

  it('gain nothing by a browser in which somebody else has signed in, nor by a cookie of their own making', async () => {
    const person = await newPerson()
    const browser = await knownBrowser(await newPerson())
    await guess(person.email)
    expect(await attempt(person.email, password, browser)).toBe(429)
    const [name = ''] = [...browser.cookies.keys()].filter(each => each.includes('known'))
    browser.cookies.set(name, { value: 'AAAA', path: '/' })
    expect(await attempt(person.email, password, browser)).toBe(429)
  })
})

describe('a browser in which a person has signed in before', () => {
  it('has a bucket of its own, which guesses empty as well', async () => {
    const person = await newPerson()
    const browser = await knownBrowser(person)
    const statuses: number[] = []
    for (let n = 0; n < 6; n++) statuses.push(await attempt(person.email, `guess ${n}`, browser))
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
    expect(await attempt(person.email, password)).toBe(200)
  })

  it('is a stranger again once a link has set another password, except to the browser that followed it', async () => {
    const person = await newPerson()
    const before = await knownBrowser(person)
    const { secret } = await issueReset(accounts.test.db.database, person.personId, null, new Date())
    const follower = newBrowser()
    const renewed = 'a horse of another color'
    await follower.submit(await follower.get(`/links/${secret}`), { password: renewed })
    await guess(person.email)
    expect(await attempt(person.email, renewed, before)).toBe(429)
    expect(await attempt(person.email, renewed, follower)).toBe(200)
  })
})

it('right passwords do not count, however many there are', async () => {
  const person = await newPerson()
  const statuses = new Set<number>()
  for (let n = 0; n < 8; n++) statuses.add(await attempt(person.email, password))
  expect([...statuses]).toEqual([200])
})

it('of many guesses at the same moment only as many are judged as the bucket holds', async () => {
  const person = await newPerson()
  const pages = await Promise.all(
    Array.from({ length: 9 }, async () => {
      const browser = newBrowser()
      return { browser, page: await browser.get(client.authorizeUrl(pkce().challenge)) }
    }),
  )
  const answers = await Promise.all(
    pages.map(({ browser, page }) => browser.submit(page, { email: person.email, password: 'a guess' })),
  )
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(5)
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(4)
})
