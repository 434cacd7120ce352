import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { Browser, pkce } from '@berth/testing/accounts/browser.ts'
import { CloudClient, codeOf } from '@berth/testing/accounts/client.ts'
import { signInPerson } from '@berth/testing/accounts/signer.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { hashPassword } from '../../src/accounts/people/password.ts'

const password = 'correct horse battery'
let accounts: Accounts
let client: CloudClient
beforeAll(async () => {
  accounts = await startAccounts({ variables: { BERTH_TRUSTED_PROXIES: '127.0.0.1' } })
  client = new CloudClient(accounts.test.url)
})
afterAll(() => accounts[Symbol.asyncDispose]())

async function newPerson() {
  const { database } = accounts.test.db
  const person = await signInPerson(database, accounts.test.tenant.organizationId)
  const hash = await hashPassword(password)
  await database.query('update people set password_hash = $2 where id = $1', [person.personId, hash])
  return { ...person, password }
}

/** Another tab of a browser: it has the same cookies, and those of its own pages. */
function tabOf(browser: Browser): Browser {
  const tab = new Browser(accounts.test.url, browser.headers)
  for (const [name, cookie] of browser.cookies) if (cookie.path === '/') tab.cookies.set(name, { ...cookie })
  return tab
}

async function countBindings(): Promise<number> {
  const text = "select 1 from oidc_records where kind = 'SessionBinding'"
  return (await accounts.test.db.database.query(text)).rows.length
}

it('several tabs of a browser may approve a client at once, and each gets a sign-in that ends with the browser', async () => {
  const before = await countBindings()
  const person = await newPerson()
  const { browser } = await client.signIn(person)
  const tabs = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const { verifier, challenge } = pkce()
      const tab = tabOf(browser)
      return { tab, verifier, page: await tab.get(client.authorizeUrl(challenge)) }
    }),
  )
  const landed = await Promise.all(
    tabs.map(async ({ tab, verifier, page }) => ({ verifier, code: codeOf(await tab.submit(page, {}, 'continue')) })),
  )
  const tokens = []
  for (const { code, verifier } of landed) tokens.push((await client.exchange(code, verifier)).body['refresh_token'])
  const refreshed = []
  for (const token of tokens) refreshed.push(await client.refresh(String(token)))
  expect(refreshed.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  const last = tabs.map(({ tab }) => tab).at(-1) ?? browser
  await last.submit(await last.get('/oidc/session/end'))
  for (const { body } of refreshed) {
    expect((await client.refresh(String(body['refresh_token']))).body['error']).toBe('invalid_grant')
  }
  expect(await countBindings()).toBe(before)
})
