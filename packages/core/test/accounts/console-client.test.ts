import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { Browser, pkce } from '@berth/testing/accounts/browser.ts'
import { CloudClient } from '@berth/testing/accounts/client.ts'
import { ConfidentialClient } from '@berth/testing/accounts/confidential-client.ts'
import { signInPerson } from '@berth/testing/accounts/signer.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { createTestDatabase } from '@berth/testing/storage/postgres.ts'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashPassword } from '../../src/accounts/people/password.ts'
import { provideClientKey } from '../../src/accounts/sign-in/client-key.ts'

const consoleOrigin = 'http://127.0.0.1:39732'
const callback = `${consoleOrigin}/cloud/auth/callback`

let accounts: Accounts
let client: ConfidentialClient
beforeAll(async () => {
  accounts = await startAccounts({
    variables: { BERTH_TRUSTED_PROXIES: '127.0.0.1', BERTH_CONSOLE_URL: consoleOrigin },
  })
  const { publicJwk, privateKey } = await key()
  client = new ConfidentialClient(accounts.test.url, 'svc-console', callback, {
    key: privateKey,
    kid: publicJwk.kid,
  })
})
afterAll(() => accounts[Symbol.asyncDispose]())

const db = () => accounts.test.db.database
const key = () => provideClientKey({ db: db(), clock: systemClock, masterKey: accounts.masterKey }, 'svc-console')

async function newPerson() {
  const person = await signInPerson(db(), accounts.test.tenant.organizationId)
  const password = 'correct horse battery'
  await db().query('update people set password_hash = $2 where id = $1', [
    person.personId,
    await hashPassword(password),
  ])
  return { ...person, password }
}

describe("the console's client", () => {
  it('signs a person in without asking for consent, and acts for them by a delegation', async () => {
    const person = await newPerson()
    const { code, verifier, pages } = await client.authorize(person)
    expect(pages.map(({ text }) => text.includes('name="password"'))).toEqual([true])
    const { body } = await client.redeem(code, verifier)
    const { body: delegated } = await client.delegate(String(body['access_token']))
    expect(decodeJwt(String(delegated['access_token']))['act']).toEqual({ sub: 'svc-console' })
    const api = new Api(accounts.test.url, String(delegated['access_token']))
    expect((await api.get('/v1/me')).body).toMatchObject({ user: { id: person.personId } })
  })

  it('asks a person of several organizations where to act, unless one is named', async () => {
    const person = await newPerson()
    const { organizationId } = await createTenant(db())
    await db().query(
      `insert into memberships (id, organization_id, person_id, role, created_at) values ($1, $2, $3, 'member', now())`,
      [randomUUID(), organizationId, person.personId],
    )
    const choice = await client.authorize(person)
    expect(choice.pages.at(-1)?.text).toContain('Where should it act?')
    const named = await client.authorize(person, { organization: organizationId })
    expect(named.pages).toHaveLength(1)
    const { body } = await client.redeem(named.code, named.verifier)
    expect(decodeJwt(String(body['access_token']))['organization']).toBe(organizationId)
  })

  it('needs PKCE, its key and its one redirect', async () => {
    const person = await newPerson()
    const without = await new Browser(accounts.test.url).get(client.authorizeUrl(null, { code_challenge_method: null }))
    expect(new URL(without.url).searchParams.get('error')).toBe('invalid_request')
    const elsewhere = client.authorizeUrl(pkce().challenge, { redirect_uri: `${consoleOrigin}/elsewhere` })
    expect((await new Browser(accounts.test.url).get(elsewhere)).status).toBe(400)

    const { code, verifier } = await client.authorize(person)
    const strange = { key: generateKeyPairSync('ed25519').privateKey, kid: (await key()).publicJwk.kid }
    expect((await client.redeem(code, verifier, strange)).outcome).toBe('401 invalid_client')
    expect((await client.redeem(code, verifier, null)).outcome).toBe('401 invalid_client')
    expect((await client.redeem(code, 'x'.repeat(43))).outcome).toBe('400 invalid_grant')
  })

  it('has one key, sealed, however many processes make it', async () => {
    await using other = await createTestDatabase()
    const made = await Promise.all(
      Array.from({ length: 5 }, () =>
        provideClientKey({ db: other.database, clock: systemClock, masterKey: accounts.masterKey }, 'svc-console'),
      ),
    )
    expect(new Set(made.map(({ publicJwk }) => publicJwk.kid)).size).toBe(1)
    const { rows } = await other.database.query<{ sealed_private: Buffer }>('select sealed_private from client_keys')
    const { d } = made[0]?.privateKey.export({ format: 'jwk' }) ?? {}
    expect(rows[0]?.sealed_private.includes(Buffer.from(d ?? '', 'base64url'))).toBe(false)
  })
})

describe('a program on a machine', () => {
  it("cannot have its code sent to the console's origin", async () => {
    const cloud = new CloudClient(accounts.test.url)
    const at = (port: string) =>
      new Browser(accounts.test.url).get(
        cloud.authorizeUrl(pkce().challenge, { redirect_uri: `http://127.0.0.1:${port}/callback` }),
      )
    const refused = await at(new URL(consoleOrigin).port)
    expect([refused.status, new URL(refused.url).origin]).toEqual([400, accounts.test.url])
    expect((await at('39733')).text).toContain('name="password"')
  })
})
