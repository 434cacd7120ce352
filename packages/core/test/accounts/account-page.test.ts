import { randomUUID } from 'node:crypto'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { Browser, pkce, type Shown } from '@berth/testing/accounts/browser.ts'
import { CloudClient, lasting } from '@berth/testing/accounts/client.ts'
import { copyOf, sessionCookieOf } from '@berth/testing/accounts/session-cookie.ts'
import { signInPerson } from '@berth/testing/accounts/signer.ts'
import { Api } from '@berth/testing/api/api.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { resetPerson } from '../../src/accounts/people/change-person.ts'
import { hashPassword } from '../../src/accounts/people/password.ts'
import { totpCode, totpStep } from '../../src/accounts/second-factor/totp.ts'

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
const me = async (token: string) => (await new Api(accounts.test.url, token).get('/v1/me')).status

/** Fills the buckets of attempts again: these people sign in more often than anybody does. */
const later = () => change("delete from rate_buckets where key like 'password/%'")

async function newPerson() {
  const person = await signInPerson(accounts.test.db.database, accounts.test.tenant.organizationId)
  await change('update people set password_hash = $2 where id = $1', [person.personId, hashed])
  return { ...person, password }
}
type Person = Awaited<ReturnType<typeof newPerson>>

/** Opens a page of the account in a browser that signs in there. */
async function open(person: Person, path = '/account', browser = new Browser(accounts.test.url)) {
  const page = await browser.get(path)
  return { browser, page: page.text.includes('name="email"') ? await browser.submit(page, { ...person }) : page }
}

const audited = async ({ personId }: Person) => {
  const { rows } = await change(
    `select action, outcome from audit_log where target = $1 and action like 'person.%' order by at, action`,
    [`person/${personId}`],
  )
  return (rows as { action: string; outcome: string }[]).map(({ action, outcome }) => `${action} ${outcome}`)
}

const keyOn = ({ text }: Shown): Buffer => {
  const key = /secret=([A-Z2-7]{32})&/.exec(text.replaceAll('&#38;', '&'))?.[1] ?? ''
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bits = [...key].map(letter => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map(byte => Number.parseInt(byte, 2)))
}
const codesOn = ({ text }: Shown) => [...text.matchAll(/<code>([A-Z2-7-]{19})<\/code>/g)].map(([, code = '']) => code)
const codeAt = (secret: Buffer, ahead: number) => totpCode(secret, totpStep(new Date()) + ahead)

/** Sets up a second factor; its code of now is used up. */
async function enrol(person: Person, inBrowser?: Browser) {
  await later()
  const { browser, page } = await open(person, '/account/second-factor', inBrowser)
  const proposed = await browser.submit(page, { password })
  const secret = keyOn(proposed)
  const confirming = codeAt(secret, 0)
  const shown = await browser.submit(proposed, { code: confirming })
  await later()
  return { browser, proposed, secret, confirming, codes: codesOn(shown), shown }
}

/** Enters the password at a client's sign-in, and then this code. */
async function enter(person: Person, code: string) {
  await later()
  const browser = new Browser(accounts.test.url)
  const page = await browser.submit(await browser.get(client.authorizeUrl(pkce().challenge)), { ...person })
  return browser.submit(page, { code })
}

describe('the page of an account', () => {
  it('asks whoever has not signed in, runs no script, shows in no frame and is not stored', async () => {
    const person = await newPerson()
    const { browser, page } = await open(person)
    expect(page.text).toContain(person.email)
    for (const { headers, text } of [page, await new Browser(accounts.test.url).get('/account')]) {
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
      expect(headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(headers.get('cache-control')).toBe('no-store')
      expect(text).not.toContain('<script')
    }
    expect((await browser.get('/account')).text).toContain('Your account')
  })

  it.each(['/account', '/account/password', '/account/second-factor'])(
    'takes a form at %s only with its own token, from its own origin and browser',
    async path => {
      const person = await newPerson()
      const { browser, page } = await open(person, path)
      const csrf = /name="csrf" value="([^"]*)"/.exec(page.text)?.[1] ?? ''
      const form = { decision: 'remove', password }
      expect((await browser.post(path, form)).status).toBe(403)
      expect((await browser.post(path, { ...form, csrf }, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
      const other = await open(await newPerson(), path)
      expect((await other.browser.post(path, { ...form, csrf })).status).toBe(403)
    },
  )

  it('lists sign-ins and ends one of them, but none of somebody else', async () => {
    const person = await newPerson()
    const { tokens } = await client.signIn(person, lasting)
    const stranger = await newPerson()
    const { browser, page } = await open(person)
    expect(page.text).toContain('svc-cloud')
    await browser.submit(page, { 'sign-in': stranger.signInId }, 'end')
    await browser.submit(page, { 'sign-in': 'x' }, 'end')
    const live = (
      await change('select id from sign_ins where person_id = $1 and ended_at is null', [stranger.personId])
    ).rows
    expect(live).toHaveLength(1)
    expect(await me(tokens.access_token)).toBe(200)
    let shown = page
    while (shown.text.includes('value="end"')) shown = await browser.submit(shown, {}, 'end')
    expect(await me(tokens.access_token)).toBe(401)
    const { rows } = await change(`select 1 from audit_log where action = 'sign_in.ended' and actor_id = $1`, [
      person.personId,
    ])
    expect(rows).toHaveLength(2)
  })

  it('lets a browser sign out', async () => {
    const { browser, page } = await open(await newPerson())
    await browser.submit(page, {}, 'sign-out')
    expect((await browser.get('/account')).text).toContain('name="password"')
  })
})

describe('changing the password', () => {
  const renewed = 'a horse of another color'

  it('needs the current one, and a good new one', async () => {
    const person = await newPerson()
    const { browser, page } = await open(person, '/account/password')
    const wrong = await browser.submit(page, { password: 'wrong', 'new-password': renewed })
    expect([wrong.status, wrong.text.includes('This is not your password')]).toEqual([401, true])
    expect((await browser.submit(page, { password, 'new-password': 'short' })).status).toBe(422)
    expect((await browser.submit(page, { password, 'new-password': person.email })).status).toBe(422)
    expect(await audited(person)).toEqual(['person.reauthentication_refused refused'])
    await client.signIn(person)
  })

  it('ends every other session and sign-in, and gives this browser a new session', async () => {
    const person = await newPerson()
    const { browser, tokens } = await client.signIn(person, lasting)
    const other = (await client.signIn(person)).browser
    const onPage = await open(person)
    const before = copyOf(browser, new Browser(accounts.test.url))
    const { page } = await open(person, '/account/password', browser)
    const changed = await browser.submit(page, { password, 'new-password': renewed })
    expect(changed.text).toContain('Your account')
    expect(sessionCookieOf(browser)).not.toBe(sessionCookieOf(before))
    expect(await me(tokens.access_token)).toBe(401)
    for (const ended of [before, other, onPage.browser]) {
      expect((await ended.get('/account')).text).toContain('name="email"')
    }
    expect((await browser.get(client.authorizeUrl(pkce().challenge))).text).toContain('Continue as')
    await client.signIn({ ...person, password: renewed })
    await expect(client.signIn(person)).rejects.toThrow()
    expect(await audited(person)).toEqual(['person.password_changed done'])
  })

  it('on a browser that signed in at the page itself, keeps that one signed in alone', async () => {
    const person = await newPerson()
    const { browser, page } = await open(person, '/account/password')
    const before = copyOf(browser, new Browser(accounts.test.url))
    expect((await browser.submit(page, { password, 'new-password': renewed })).text).toContain('Your account')
    expect((await before.get('/account')).text).toContain('name="email"')
  })
})

describe('a second factor', () => {
  it('is set up by the password and a code of its secret', async () => {
    const person = await newPerson()
    const { browser, page } = await open(person, '/account/second-factor')
    expect((await browser.submit(page, { password: 'wrong' })).status).toBe(401)
    const elsewhere = await open(person, '/account/second-factor')
    const waiting = await elsewhere.browser.submit(elsewhere.page, { password })
    await later()
    const proposed = await browser.submit(page, { password })
    expect(proposed.text).toMatch(/<svg class="qr" viewBox="0 0 (\d+) \1"/)
    expect(proposed.text).toContain('otpauth://totp/')
    const wrong = await browser.submit(proposed, { code: '000000' })
    expect([wrong.status, keyOn(wrong)]).toEqual([401, keyOn(proposed)])
    const forged = await browser.submit(proposed, { proposal: 'AAAA', code: codeAt(keyOn(proposed), 0) })
    expect(forged.text).toContain('Begin once more')
    const shown = await browser.submit(wrong, { code: codeAt(keyOn(proposed), 0) })
    expect(new Set(codesOn(shown)).size).toBe(10)
    const late = await elsewhere.browser.submit(waiting, { code: codeAt(keyOn(waiting), 0) })
    expect([late.status, codesOn(late)]).toEqual([409, []])
    expect(await audited(person)).toEqual([
      'person.reauthentication_refused refused',
      'person.second_factor_enrolled done',
    ])
  })

  it('is asked for at the next sign-in, where the code that confirmed it counts no more', async () => {
    const person = await newPerson()
    const { secret, confirming } = await enrol(person)
    expect((await enter(person, confirming)).status).toBe(401)
    expect((await enter(person, codeAt(secret, 1))).text).toContain('Continue as')
  })

  it('gives the browser a new session, and the old id is worth nothing', async () => {
    const person = await newPerson()
    const { browser } = await client.signIn(person)
    const before = copyOf(browser, new Browser(accounts.test.url))
    await enrol(person, browser)
    expect(sessionCookieOf(browser)).not.toBe(sessionCookieOf(before))
    expect((await before.get('/account')).text).toContain('name="email"')
    expect((await browser.get('/account')).text).toContain('Your account')
  })

  it('can be replaced by each recovery code once; they are kept as digests alone', async () => {
    const person = await newPerson()
    const { codes, browser } = await enrol(person)
    const [first = '', second = '', third = ''] = codes
    expect((await enter(person, first)).text).toContain('Continue as')
    expect((await enter(person, first)).status).toBe(401)
    expect((await enter(person, second.toLowerCase().replaceAll('-', ' '))).text).toContain('Continue as')
    expect((await browser.get('/account')).text).toContain('8 recovery codes are left')
    const { rows } = await change(`select r::text as row from recovery_codes r where person_id = $1`, [person.personId])
    const stored = JSON.stringify(rows)
    for (const code of codes) expect(stored).not.toContain(Buffer.from(code).toString('hex'))
    const other = await newPerson()
    await enrol(other)
    expect((await enter(other, third)).status).toBe(401)
    expect((await audited(person)).filter(each => each === 'person.recovery_code_used done')).toHaveLength(2)
  })

  it.each([
    ['a code', (secret: Buffer, _: readonly string[]) => ({ code: codeAt(secret, 1) })],
    ['a recovery code', (_: Buffer, [code = '']: readonly string[]) => ({ code })],
    ['the password', () => ({ password })],
  ])('is turned off by %s, and by nothing less', async (_, proof) => {
    const person = await newPerson()
    const { browser, secret, codes, confirming } = await enrol(person)
    const page = await browser.get('/account/second-factor')
    expect((await browser.submit(page, { password: 'wrong' }, 'remove')).status).toBe(401)
    expect((await browser.submit(page, { code: confirming }, 'remove')).status).toBe(401)
    const off = await browser.submit(page, proof(secret, codes), 'remove')
    expect(off.text).toContain('Your password alone signs you in')
    await client.signIn(person)
    expect(await audited(person)).toContain('person.second_factor_removed done')
    expect((await change('select 1 from recovery_codes where person_id = $1', [person.personId])).rows).toEqual([])
  })

  it('gets new recovery codes, which end the old ones', async () => {
    const person = await newPerson()
    const { browser, codes, secret } = await enrol(person)
    const page = await browser.get('/account/second-factor')
    const fresh = codesOn(await browser.submit(page, { code: codeAt(secret, 1) }, 'replace-codes'))
    expect(fresh).toHaveLength(10)
    expect((await enter(person, codes[0] ?? '')).status).toBe(401)
    expect((await enter(person, fresh[0] ?? '')).text).toContain('Continue as')
  })

  it('that is lost is taken away by an operator, with its recovery codes', async () => {
    const person = await newPerson()
    await enrol(person)
    await resetPerson(accounts.test.db.database, person.email, true, new Date())
    expect((await change('select 1 from recovery_codes where person_id = $1', [person.personId])).rows).toEqual([])
    await client.signIn(person)
  })

  it('is nothing that guesses at a sign-in find either', async () => {
    const person = await newPerson()
    await enrol(person)
    const browser = new Browser(accounts.test.url)
    const page = await browser.submit(await browser.get(client.authorizeUrl(pkce().challenge)), { ...person })
    const statuses: number[] = []
    for (let n = 0; n < 6; n++) statuses.push((await browser.submit(page, { code: randomUUID() })).status)
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
  })

  it('is nothing that guesses find: they are bounded together with those at the password', async () => {
    const person = await newPerson()
    const { browser } = await enrol(person)
    const page = await browser.get('/account/second-factor')
    const statuses: number[] = []
    for (let n = 0; n < 6; n++) statuses.push((await browser.submit(page, { code: randomUUID() }, 'remove')).status)
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
  })
})
