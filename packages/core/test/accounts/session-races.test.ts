import { randomUUID } from 'node:crypto'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { Browser, pkce } from '@berth/testing/accounts/browser.ts'
import { CloudClient } from '@berth/testing/accounts/client.ts'
import { signInPerson } from '@berth/testing/accounts/signer.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { hashPassword } from '../../src/accounts/people/password.ts'
import { endEverySession, setPassword } from '../../src/accounts/people/person.ts'
import { insertSignIn } from '../../src/accounts/sign-in/sign-in-sql.ts'

const password = 'correct horse battery'
const renewed = 'a horse of another color'
let accounts: Accounts
let client: CloudClient
let hashes: { readonly old: string; readonly renewed: string }
beforeAll(async () => {
  accounts = await startAccounts({ variables: { BERTH_TRUSTED_PROXIES: '127.0.0.1' } })
  client = new CloudClient(accounts.test.url)
  hashes = { old: await hashPassword(password), renewed: await hashPassword(renewed) }
})
afterAll(() => accounts[Symbol.asyncDispose]())

async function newPerson() {
  const { database } = accounts.test.db
  const person = await signInPerson(database, accounts.test.tenant.organizationId)
  await database.query('update people set password_hash = $2 where id = $1', [person.personId, hashes.old])
  return { ...person, password }
}

/** Begins `work` inside a transaction, and commits once `work` waits for it, or has not waited. */
async function whileOpen<T>(first: (tx: Queryable) => Promise<unknown>, work: () => Promise<T>): Promise<T> {
  const { database } = accounts.test.db
  const begun = await database.transaction(async tx => {
    await first(tx)
    const done = work()
    const waits = async () => {
      // On another connection: a transaction sees the activity as it was at its first look.
      const { rows } = await database.query(
        "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      )
      return rows.length > 0
    }
    await Promise.race([done, until('the second one waits', waits)])
    return { done }
  })
  return begun.done
}

const reset =
  ({ personId }: { readonly personId: string }) =>
  async (tx: Queryable) => {
    await setPassword(tx, personId, hashes.renewed)
    await endEverySession(tx, personId, new Date())
  }
const liveSignIns = async (personId: string) => {
  const text = 'select id from sign_ins where person_id = $1 and ended_at is null'
  return (await accounts.test.db.database.query(text, [personId])).rows
}

it('a session approves no client while a reset ends it', async () => {
  const person = await newPerson()
  const browser = new Browser(accounts.test.url)
  const page = await browser.submit(await browser.get(client.authorizeUrl(pkce().challenge)), person)
  const { url } = await whileOpen(reset(person), () => browser.submit(page))
  expect(new URL(url).searchParams.get('error')).toBe('access_denied')
  expect(await liveSignIns(person.personId)).toEqual([])
})

it('a reset ends a sign-in that is being made', async () => {
  const { personId, membershipId: id, organizationId } = await newPerson()
  const { database } = accounts.test.db
  const now = new Date()
  const membership = { id, organization_id: organizationId, organization: 'Any', role: 'member' }
  const began = Math.floor(now.getTime() / 1000)
  const signIn = {
    id: randomUUID(),
    personId,
    began,
    membership,
    clientId: 'svc-cloud',
    address: '::1',
    userAgent: null,
  }
  await whileOpen(
    async tx => expect(await insertSignIn(tx, signIn, now)).toBe(true),
    () => database.transaction(tx => endEverySession(tx, personId, now)),
  )
  expect(await liveSignIns(personId)).toEqual([])
})

it('whoever knows the old password does not undo a reset that ends at the same moment', async () => {
  const person = await newPerson()
  const browser = new Browser(accounts.test.url)
  const page = await browser.submit(await browser.get('/account/password'), person)
  const form = { password, 'new-password': 'the choice of a thief' }
  const refused = await whileOpen(reset(person), () => browser.submit(page, form))
  expect([refused.status, refused.text.includes('changed in another window')]).toEqual([409, true])
  await client.signIn({ ...person, password: renewed })
})
