import { randomUUID } from 'node:crypto'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { Browser, pkce, type Shown } from '@berth/testing/accounts/browser.ts'
import { CloudClient, codeOf } from '@berth/testing/accounts/client.ts'
import {
  type Account,
  type IdentityProvider,
  startIdentityProvider,
} from '@berth/testing/accounts/identity-provider.ts'
import { signInPerson } from '@berth/testing/accounts/signer.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { hashPassword } from '../../src/accounts/people/password.ts'
import { totpCode, totpStep } from '../../src/accounts/second-factor/totp.ts'

const password = 'correct horse battery'
const organization = randomUUID()
let idp: IdentityProvider
let other: IdentityProvider
let accounts: Accounts
let client: CloudClient
beforeAll(async () => {
  ;[idp, other] = await Promise.all([startIdentityProvider(), startIdentityProvider()])
  accounts = await startAccounts({
    variables: { BERTH_TRUSTED_PROXIES: '127.0.0.1' },
    config: {
      identityProviders: [
        { id: 'acme', name: 'Acme', ...idp.configuration, organization, domains: ['acme.test'] },
        { id: 'other', name: 'Other', ...other.configuration },
      ],
    },
  })
  const { url } = accounts.test
  idp.serve(`${url}/external/acme/callback`)
  other.serve(`${url}/external/other/callback`)
  client = new CloudClient(url)
  await change("insert into organizations (id, name, created_at) values ($1, 'Acme', now())", [organization])
})
afterAll(async () => {
  await accounts[Symbol.asyncDispose]()
  await Promise.all([idp[Symbol.asyncDispose](), other[Symbol.asyncDispose]()])
})
afterEach(() => {
  idp.intercept = () => false
})

const change = (text: string, values: readonly unknown[] = []) => accounts.test.db.database.query(text, values)
const account = (changes: Partial<Account> = {}): Account => {
  const sub = randomUUID()
  return { sub, email: `${sub}@acme.test`, email_verified: true, name: 'Ann Other', ...changes }
}
const signInPage = async () => {
  const browser = new Browser(accounts.test.url)
  return { browser, page: await browser.get(client.authorizeUrl(pkce().challenge)) }
}

/** Presses a provider's button. @returns where the provider sends the browser back to */
async function goTo(browser: Browser, page: Shown, provider: IdentityProvider, button: string, as: Account | null) {
  provider.account = as
  const sent = await browser.submit(page, { password }, button)
  return new Browser(provider.issuer).get(sent.url)
}

/** Signs in at a client by a provider. */
async function signIn(as: Account, provider = idp, button = 'acme') {
  const { browser, page } = await signInPage()
  const answer = await goTo(browser, page, provider, button, as)
  return { browser, page: await browser.get(answer.url), answer }
}

async function newPerson(email = `${randomUUID()}@acme.test`) {
  const person = await signInPerson(accounts.test.db.database, accounts.test.tenant.organizationId)
  const values = [person.personId, await hashPassword(password), email]
  await change('update people set password_hash = $2, email = $3, email_proven_at = now() where id = $1', values)
  return { ...person, email, password }
}
const peopleOf = async (email: string) =>
  (await change('select id, name, password_hash from people where email = $1', [email])).rows as { id: string }[]
const refusals = async (reason: string) =>
  (await change("select 1 from audit_log where action = 'sign_in.refused' and details->>'reason' = $1", [reason])).rows
    .length

describe('signing in with a provider', () => {
  it('makes a member of whoever has a verified email of a listed domain, and knows them again by subject', async () => {
    const ann = account()
    const { browser, page } = await signIn(ann)
    expect(page.text).toContain('Continue as Ann Other')
    const landed = await browser.submit(page, {}, 'continue')
    expect(codeOf(landed)).toBeTruthy()
    const people = await peopleOf(ann.email ?? '')
    expect(people).toEqual([{ id: expect.any(String), name: 'Ann Other', password_hash: null }])
    const { rows } = await change(
      "select details from audit_log where organization_id = $1 and action = 'member.joined' and actor_id = $2",
      [organization, people[0]?.id],
    )
    expect(rows).toEqual([{ details: { role: 'member', provider: 'acme' } }])
    const again = await signIn({ ...ann, email: 'changed@elsewhere.test', email_verified: false })
    expect(again.page.text).toContain('Continue as Ann Other')
    expect(await peopleOf(ann.email ?? '')).toEqual(people)
  })

  it('makes one person of somebody who comes back twice at the same moment', async () => {
    const ann = account()
    const ways = await Promise.all([signInPage(), signInPage()])
    const answers: Shown[] = []
    for (const { browser, page } of ways) answers.push(await goTo(browser, page, idp, 'acme', ann))
    const pages = await Promise.all(ways.map(({ browser }, index) => browser.get(answers[index]?.url ?? '')))
    for (const { text } of pages) expect(text).toContain('Continue as Ann Other')
    expect(await peopleOf(ann.email ?? '')).toHaveLength(1)
  })

  it.each<[string, Partial<Account>, string]>([
    ['whose email is not verified', { email_verified: false }, 'email_not_verified'],
    ['without an email', { email: undefined as never }, 'email_not_verified'],
    ['of another domain', { email: `${randomUUID()}@acme.test.evil.test` }, 'domain_not_listed'],
    ['of a domain that ends like a listed one', { email: `${randomUUID()}@evilacme.test` }, 'domain_not_listed'],
  ])('refuses somebody %s, and says so in the audit log', async (_, changes, reason) => {
    const before = await refusals(reason)
    const { page } = await signIn(account(changes))
    expect(page.status).toBe(403)
    expect(page.text).toContain('role="alert"')
    expect(await refusals(reason)).toBe(before + 1)
  })

  it('lets nobody join through a provider that has no organization', async () => {
    const { page } = await signIn(account(), other, 'other')
    expect(page.status).toBe(403)
  })

  it('never links a proven email to an account that has a password or another identity', async () => {
    const person = await newPerson()
    const taken = await signIn(account({ email: person.email.toUpperCase() }))
    expect([taken.page.status, taken.page.text.includes('Sign in with its password')]).toEqual([403, true])
    const ann = account()
    await signIn(ann)
    expect((await signIn(account({ email: ann.email ?? '' }))).page.status).toBe(403)
    const { rows } = await change('select 1 from external_identities where person_id = $1', [person.personId])
    expect(rows).toEqual([])
  })

  it('asks for the second factor of those who have one', async () => {
    const ann = account()
    await signIn(ann)
    const [{ id = '' } = {}] = await peopleOf(ann.email ?? '')
    const secret = Buffer.alloc(20, 7)
    await change('update people set totp_secret = $2 where id = $1', [
      id,
      accounts.masterKey.seal(secret, `totp/${id}`),
    ])
    const { browser, page } = await signIn(ann)
    expect(page.text).toContain('name="code"')
    expect((await browser.submit(page, { code: totpCode(secret, totpStep(new Date())) })).text).toContain('Continue as')
  })

  it.each([
    ['is disabled', 'update people set disabled_at = now() where id = $1'],
    ['has left', 'update memberships set revoked_at = now() where person_id = $1'],
  ])('lets nobody in who %s', async (_, statement) => {
    const ann = account()
    await signIn(ann)
    const [{ id = '' } = {}] = await peopleOf(ann.email ?? '')
    await change(statement, [id])
    const { page } = await signIn(ann)
    expect(page.text).not.toContain('Continue as Ann')
    expect(page.status === 403 || page.url.includes('access_denied')).toBe(true)
  })
})

describe('the answer of a provider', () => {
  it('counts only in the browser that asked, once, with its state, and at its own address', async () => {
    const { browser, page } = await signInPage()
    const { url } = await goTo(browser, page, idp, 'acme', account())
    const changed = (changes: Record<string, string>) => {
      const answer = new URL(url)
      for (const [name, value] of Object.entries(changes)) answer.searchParams.set(name, value)
      return answer.href
    }
    expect((await new Browser(accounts.test.url).get(url)).status).toBe(400)
    expect((await browser.get(url.replace('/acme/', '/other/'))).status).toBe(400)
    expect((await browser.get(url.replace('/acme/', '/unknown/'))).status).toBe(400)
    expect((await browser.get(changed({ state: 'guess' }))).status).toBe(502)
    expect((await browser.get(url)).status).toBe(400)
  })

  it('is refused if it names another issuer, as one that was mixed up does', async () => {
    const { browser, page } = await signInPage()
    const answer = new URL((await goTo(browser, page, idp, 'acme', account())).url)
    expect(answer.searchParams.get('iss')).toBe(idp.issuer)
    answer.searchParams.set('iss', other.issuer)
    expect((await browser.get(answer.href)).status).toBe(502)
    const without = await signInPage()
    const bare = new URL((await goTo(without.browser, without.page, idp, 'acme', account())).url)
    bare.searchParams.delete('iss')
    expect((await without.browser.get(bare.href)).status).toBe(502)
  })

  it('that refuses is told to the person, and in the audit log', async () => {
    const before = await refusals('OAUTH_AUTHORIZATION_RESPONSE_ERROR')
    const { browser, page } = await signInPage()
    const back = await browser.get((await goTo(browser, page, idp, 'acme', null)).url)
    expect([back.status, back.text.includes('Acme did not sign you in')]).toEqual([403, true])
    expect(await refusals('OAUTH_AUTHORIZATION_RESPONSE_ERROR')).toBe(before + 1)
    expect(back.text).toContain(`${accounts.test.url}/interaction/`)
  })

  it('that cannot be redeemed, because the provider fails, ends in a page that says so', async () => {
    const { browser, page } = await signInPage()
    const { url } = await goTo(browser, page, idp, 'acme', account())
    idp.intercept = ({ url: path }, response) => {
      if (path !== '/token') return false
      response.destroy()
      return true
    }
    const away = await browser.get(url)
    expect([away.status, away.text.includes('Acme does not answer')]).toEqual([502, true])
  })

  it('carries no secret to the page, and its cookie is sealed', async () => {
    const { browser, page } = await signInPage()
    idp.account = account()
    const { url } = await browser.submit(page, {}, 'acme')
    const params = new URL(url).searchParams
    expect(params.get('code_challenge_method')).toBe('S256')
    expect(params.get('redirect_uri')).toBe(`${accounts.test.url}/external/acme/callback`)
    const [, cookie] = [...browser.cookies].find(([name]) => name.startsWith('berth_external_')) ?? []
    for (const name of ['state', 'nonce']) expect(cookie?.value).not.toContain(params.get(name))
    expect(page.text + url).not.toContain(idp.configuration.clientSecret)
  })
})

describe('linking on the account page', () => {
  const open = async (person: { email: string }) => {
    const browser = new Browser(accounts.test.url)
    const signedIn = await browser.submit(await browser.get('/account/identities'), { email: person.email, password })
    return { browser, page: signedIn }
  }

  it('lets a person sign in by the provider, until they unlink it', async () => {
    const person = await newPerson()
    const ann = account({ email: person.email })
    const { browser, page } = await open(person)
    expect((await browser.submit(page, { password: 'wrong' }, 'acme')).status).toBe(401)
    const linked = await browser.get((await goTo(browser, page, idp, 'acme', ann)).url)
    expect(linked.text).toContain(ann.sub)
    expect((await signIn(ann)).page.text).toContain('Continue as Robin Marsh')
    await browser.submit(linked, { password }, 'unlink')
    expect((await signIn(ann)).page.status).toBe(403)
    const { rows } = await change(
      "select action from audit_log where target = $1 and action like 'person.identity%' order by at",
      [`person/${person.personId}`],
    )
    expect(rows).toEqual([{ action: 'person.identity_linked' }, { action: 'person.identity_unlinked' }])
  })

  it('takes no identity from another account', async () => {
    const ann = account()
    await signIn(ann)
    const { browser, page } = await open(await newPerson())
    const refused = await browser.get((await goTo(browser, page, idp, 'acme', ann)).url)
    expect([refused.status, refused.text.includes('linked to another account')]).toEqual([409, true])
  })

  it('keeps the only way to sign in of somebody without a password', async () => {
    const ann = account()
    await signIn(ann)
    const browser = new Browser(accounts.test.url)
    const page = await browser.get('/account/identities')
    const signedIn = await browser.get((await goTo(browser, page, idp, 'acme', ann)).url)
    const kept = await browser.submit(signedIn, {}, 'unlink')
    expect([kept.status, kept.text.includes('your only way to sign in')]).toEqual([409, true])
  })
})

it('a provider that hangs, at the beginning or the end, is a page that says so, and comes back', async () => {
  await using slow = await startIdentityProvider()
  await using service = await startAccounts({
    variables: { BERTH_TRUSTED_PROXIES: '127.0.0.1' },
    // It is to be over twice; between the two, the provider has to answer within this time on a busy machine.
    fixed: { identityProviderMs: 5000 },
    config: { identityProviders: [{ id: 'slow', name: 'Slow', ...slow.configuration }] },
  })
  slow.serve(`${service.test.url}/external/slow/callback`)
  const browser = new Browser(service.test.url)
  const page = await browser.get('/account')
  const isAway = ({ status, text }: Shown) => [status, text.includes('Slow does not answer')]
  slow.intercept = () => true
  expect(isAway(await browser.submit(page, {}, 'slow'))).toEqual([502, true])
  slow.intercept = () => false
  const { url } = await goTo(browser, page, slow, 'slow', account())
  expect(url).toContain('/external/slow/callback?')
  slow.intercept = ({ url: path }) => path === '/token'
  expect(isAway(await browser.get(url))).toEqual([502, true])
})
