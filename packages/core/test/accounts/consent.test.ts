import { randomUUID } from 'node:crypto'
import type { Permission, Role } from '@berth/contract'
import { type Accounts, type AppKeyPair, assert, makeAppKey, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { Browser, formOf, type Shown } from '@berth/testing/accounts/browser.ts'
import { CloudClient } from '@berth/testing/accounts/client.ts'
import { signInPerson } from '@berth/testing/accounts/signer.ts'
import { Api } from '@berth/testing/api/api.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashPassword } from '../../src/accounts/people/password.ts'
import { totpCode, totpStep } from '../../src/accounts/second-factor/totp.ts'

interface Intent {
  readonly id: string
  readonly status: string
  readonly authorizeUrl: string
  readonly installationId?: string
  readonly setupAuthorityId?: string
}

const redirectUrl = 'https://app.example/installed'
const password = 'correct horse battery'
const slug = `a-${randomUUID()}`
const manage: readonly Permission[] = ['organization.integrations.manage']
let accounts: Accounts
let backend: Api
let key: AppKeyPair
let publisher: string
let hashed: string
beforeAll(async () => {
  accounts = await startAccounts({ variables: { BERTH_TRUSTED_PROXIES: '127.0.0.1' } })
  backend = new Api(accounts.test.url, 'none')
  publisher = await newOrganization()
  const { api } = await accounts.person({ organizationId: publisher, role: 'admin' })
  await api.call('POST', '/api/apps', { slug, name: 'Tidy & Co', redirectUrls: [redirectUrl] })
  key = await makeAppKey()
  await api.call('POST', `/api/apps/${slug}/keys`, { publicKeyPem: key.publicKeyPem })
  hashed = await hashPassword(password)
})
afterAll(() => accounts[Symbol.asyncDispose]())

const change = (text: string, values: readonly unknown[] = []) => accounts.test.db.database.query(text, values)
const newOrganization = async () => (await accounts.test.newTenant()).tenant.organizationId
const assertion = () => assert(key, slug, accounts.issuer)
const intentIn = (body: Record<string, unknown>) => body['intent'] as Intent
const ask = async (more: Record<string, unknown> = {}) => {
  const capabilities = ['svc.cloud.access', 'svc.cloud.sessions:read']
  const intentBody = { assertion: await assertion(), capabilities, redirectUrl, state: 'a b&c', ...more }
  return intentIn((await backend.call('POST', '/api/apps/installation-intents', intentBody)).body)
}
const read = async ({ id }: Intent) =>
  intentIn(
    (await backend.call('POST', `/api/apps/installation-intents/${id}/status`, { assertion: await assertion() })).body,
  )
const landed = `${redirectUrl}?state=a%20b%26c`

/** A member with a password; by default one who may consent. */
async function newPerson(access: { role?: Role; permissions?: readonly Permission[] } = { permissions: manage }) {
  const person = await signInPerson(accounts.test.db.database, await newOrganization(), access)
  await change('update people set password_hash = $2 where id = $1', [person.personId, hashed])
  return { ...person, password }
}
type Person = Awaited<ReturnType<typeof newPerson>>

/** Opens an intent's page and signs in there. */
async function open(intent: Intent, { email }: Person) {
  const browser = new Browser(accounts.test.url)
  const signIn = await browser.get(intent.authorizeUrl)
  return { browser, page: await browser.submit(signIn, { email, password }) }
}

/** Sends a form with the cookies of a browser, as an older browser does for a page of another origin. */
async function postFromElsewhere(browser: Browser, url: string, fields: Record<string, string>): Promise<Shown> {
  const cookie = [...browser.cookies].map(([name, { value }]) => `${name}=${value}`).join('; ')
  const headers = { cookie, origin: 'https://evil.example' }
  const answer = await fetch(url, { method: 'POST', redirect: 'manual', headers, body: new URLSearchParams(fields) })
  return { status: answer.status, url, text: await answer.text(), headers: answer.headers }
}

const audited = async (organizationId: string, action: string) =>
  (
    await change(
      'select actor_id, target, outcome, address from audit_log where organization_id = $1 and action = $2',
      [organizationId, action],
    )
  ).rows

describe('the page of an intent', () => {
  it('leads from an intent to a token, by way of a person who signs in and approves', async () => {
    const person = await newPerson()
    const intent = await ask()
    const { browser, page } = await open(intent, person)
    for (const visible of ['Tidy &#38; Co', slug, 'Read its sessions', 'Use the service', person.email])
      expect(page.text).toContain(visible)
    const back = await browser.submit(page)
    expect([back.status, back.url]).toEqual([303, landed])
    expect(back.headers.get('referrer-policy')).toBe('no-referrer')
    const { installationId, setupAuthorityId, status } = await read(intent)
    expect(status).toBe('authorized')
    const body = { assertion: await assertion(), installationId, setupAuthorityId, resourceAudience: 'svc-cloud' }
    const { body: exchanged } = await backend.call('POST', '/auth/app-installation-token', body)
    expect((await new Api(accounts.test.url, String(exchanged['token'])).get('/v1/sessions')).status).toBe(200)
    const [row] = await audited(person.organizationId, 'intent.authorized')
    const address = browser.headers['x-forwarded-for']
    expect(row).toEqual({
      actor_id: person.personId,
      target: `installation ${installationId}`,
      outcome: 'done',
      address,
    })
    expect((await browser.get(intent.authorizeUrl)).status).toBe(404)
  })

  it('runs no script, shows in no frame, and is not stored', async () => {
    const { page } = await open(await ask(), await newPerson())
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(page.headers.get('x-frame-options')).toBe('DENY')
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect(page.headers.get('referrer-policy')).toBe('no-referrer')
    expect(page.text).not.toContain('<script')
  })

  it('needs no password where the person has signed in before', async () => {
    const person = await newPerson()
    const { browser } = await new CloudClient(accounts.test.url).signIn(person)
    const page = await browser.get((await ask()).authorizeUrl)
    expect(page.text).toContain('Install Tidy')
    expect((await browser.submit(page)).url).toBe(landed)
    await change('update people set disabled_at = now() where id = $1', [person.personId])
    expect((await browser.get((await ask()).authorizeUrl)).text).toContain('name="password"')
  })

  it('asks for the second factor of those who have one, and counts guesses', async () => {
    const person = await newPerson()
    const secret = Buffer.alloc(20, 7)
    await change('update people set totp_secret = $2 where id = $1', [
      person.personId,
      accounts.masterKey.seal(secret, `totp/${person.personId}`),
    ])
    const { browser, page } = await open(await ask(), person)
    expect(page.text).toContain('name="code"')
    const wrong = await browser.submit(page, { code: 'abcdef' })
    expect([wrong.status, wrong.text.includes('This code is wrong')]).toEqual([401, true])
    const right = await browser.submit(wrong, { code: totpCode(secret, totpStep(new Date())) })
    expect(right.text).toContain('Install Tidy')
    const other = new Browser(accounts.test.url)
    let last: Shown = await other.get((await ask()).authorizeUrl)
    const statuses: number[] = []
    for (let guess = 0; guess < 6; guess++) {
      last = await other.submit(last, { email: 'nobody@example.test', password: 'guess' })
      statuses.push(last.status)
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
  })

  it('sends back who denies as well, and installs nothing', async () => {
    const person = await newPerson()
    const intent = await ask()
    const { browser, page } = await open(intent, person)
    expect((await browser.submit(page, {}, 'deny')).url).toBe(landed)
    expect((await read(intent)).status).toBe('expired')
    const { rows } = await change('select 1 from installations where organization_id = $1 and app_slug = $2', [
      person.organizationId,
      slug,
    ])
    expect(rows).toEqual([])
    expect(await audited(person.organizationId, 'intent.denied')).toMatchObject([{ outcome: 'refused' }])
  })

  it.each([
    ['at once', (send: () => Promise<Shown>) => Promise.all([send(), send()])],
    ['one after the other', async (send: () => Promise<Shown>) => [await send(), await send()]],
  ])('answers two forms of one approval alike, sent %s', async (_, twice) => {
    const person = await newPerson()
    const intent = await ask()
    const { browser, page } = await open(intent, person)
    const answers = await twice(() => browser.submit(page))
    expect(answers.map(({ status, url }) => `${status} ${url}`)).toEqual([`303 ${landed}`, `303 ${landed}`])
    expect(await audited(person.organizationId, 'intent.authorized')).toHaveLength(1)
    await change('update installations set revoked_at = now() where organization_id = $1', [person.organizationId])
    expect((await browser.submit(page)).status).toBe(404)
  })

  it('says that it is done if the app named no place to go', async () => {
    const { browser, page } = await open(await ask({ redirectUrl: undefined, state: undefined }), await newPerson())
    const done = await browser.submit(page)
    expect([done.status, done.text.includes('The app is installed')]).toEqual([200, true])
  })

  it('changes the grant of an installation that is there, which keeps its id', async () => {
    const person = await newPerson()
    const [first, second] = [await ask(), await ask({ capabilities: ['svc.ai.invoke'] })]
    const { browser, page } = await open(first, person)
    await browser.submit(page)
    await browser.submit(await browser.get(second.authorizeUrl))
    const { installationId } = await read(first)
    expect((await read(second)).installationId).toBe(installationId)
    const { rows } = await change('select capabilities from installations where id = $1', [installationId])
    expect(rows).toEqual([{ capabilities: ['svc.ai.invoke'] }])
  })

  it('tells a member who may not decide whom to ask', async () => {
    const person = await newPerson({})
    const administrator = await signInPerson(accounts.test.db.database, person.organizationId, { role: 'admin' })
    await change("update people set name = 'Ada <Admin>' where id = $1", [administrator.personId])
    const intent = await ask()
    const { page } = await open(intent, person)
    expect([page.status, page.text.includes('Ada &#60;Admin&#62;')]).toEqual([403, true])
    expect(page.text).not.toContain('<form')
    expect((await read(intent)).status).toBe('pending')
  })

  it('refuses a member who lost the permission while the page was open', async () => {
    const person = await newPerson()
    const intent = await ask()
    const { browser, page } = await open(intent, person)
    await change("update memberships set permissions = '{}' where id = $1", [person.membershipId])
    expect((await browser.submit(page)).status).toBe(403)
    expect((await read(intent)).status).toBe('pending')
    expect(await audited(person.organizationId, 'intent.forbidden')).toMatchObject([{ outcome: 'refused' }])
  })

  it('lets a person of several organizations choose, and only among their own', async () => {
    const [person, stranger] = [await newPerson(), await newPerson()]
    const [membershipId, organizationId] = [randomUUID(), await newOrganization()]
    await change(
      `insert into memberships (id, organization_id, person_id, role, created_at) values ($1, $2, $3, 'admin', now())`,
      [membershipId, organizationId, person.personId],
    )
    const intent = await ask()
    const { browser, page } = await open(intent, person)
    expect(page.text).toContain('Where should')
    expect((await browser.submit(page, { membership: stranger.membershipId })).status).toBe(403)
    const chosen = await browser.submit(page, { membership: membershipId })
    expect((await browser.submit(chosen, { membership: stranger.membershipId })).status).toBe(403)
    expect((await read(intent)).status).toBe('pending')
    expect((await browser.submit(page, { membership: membershipId })).text).toBe(chosen.text)
    expect((await browser.submit(chosen)).url).toBe(landed)
    expect((await browser.submit(page, { membership: membershipId })).url).toBe(landed)
    expect((await browser.submit(page, { membership: person.membershipId })).status).toBe(404)
    const { rows } = await change('select organization_id from installations where id = $1', [
      (await read(intent)).installationId,
    ])
    expect(rows).toEqual([{ organization_id: organizationId }])
  })

  it.each<[string, (browser: Browser, url: string, fields: Record<string, string>) => Promise<Shown>]>([
    ['without its token', (browser, url, { csrf: _, ...fields }) => browser.post(url, fields)],
    ['from another site', (browser, url, fields) => browser.post(url, fields, { 'sec-fetch-site': 'cross-site' })],
    ['from another origin by a browser that says no more', postFromElsewhere],
    ['in another browser', (_, url, fields) => new Browser(accounts.test.url).post(url, fields)],
    [
      'with the token of another intent',
      async (browser, url, fields) => {
        const { csrf = '' } = formOf(await browser.get((await ask()).authorizeUrl)).fields
        return browser.post(url, { ...fields, csrf })
      },
    ],
    [
      'with the token of another browser',
      async (browser, url, fields) => {
        const other = await new Browser(accounts.test.url).get(url)
        return browser.post(url, { ...fields, csrf: formOf(other).fields['csrf'] ?? '' })
      },
    ],
  ])('takes no form that was sent %s', async (_, send) => {
    const intent = await ask()
    const { browser, page } = await open(intent, await newPerson())
    const fields = { ...formOf(page).fields, decision: 'approve' }
    const answer = await send(browser, intent.authorizeUrl, fields)
    expect([answer.status, answer.text.includes('out of date')]).toEqual([403, true])
    expect((await read(intent)).status).toBe('pending')
    expect((await browser.submit(page)).url).toBe(landed)
  })

  it('is one and the same for an intent that was used, has ended or never was', async () => {
    const [used, late] = [await ask(), await ask()]
    const person = await newPerson()
    const { browser, page } = await open(used, person)
    const waiting = await browser.get(late.authorizeUrl)
    await browser.submit(page)
    await change("update installation_intents set expires_at = now() - interval '1 second' where status = 'pending'")
    const never = `${accounts.test.url}/install/${randomUUID()}`
    const pages = [
      await browser.submit(waiting),
      await browser.submit(page, {}, 'deny'),
      await browser.submit(page, { csrf: formOf(waiting).fields['csrf'] ?? '' }),
      ...(await Promise.all([used.authorizeUrl, late.authorizeUrl, never].map(url => browser.get(url)))),
      await new Browser(accounts.test.url).get(never),
    ]
    expect(new Set(pages.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(pages[0]?.status).toBe(404)
  })

  it('keeps a sign-in of its own for its own path and for a quarter of an hour', async () => {
    const { browser } = await open(await ask(), await newPerson())
    const [[name = '', cookie] = [], ...more] = [...browser.cookies].filter(([, { path }]) => path !== '/')
    expect([more.length, cookie?.path]).toEqual([0, '/install'])
    expect(name).toMatch(/^berth_install_[0-9a-f]{12}$/)
    const fresh = await fetch((await ask()).authorizeUrl)
    expect(fresh.headers.get('set-cookie')).toMatch(/; Path=\/install; Max-Age=900; HttpOnly; SameSite=Lax$/)
    const shown = async (value: string) => {
      browser.cookies.set(name, { value, path: '/install' })
      return (await browser.get((await ask()).authorizeUrl)).text
    }
    const own = JSON.parse(accounts.masterKey.open(Buffer.from(cookie?.value ?? '', 'base64url'), name).toString())
    const until = (instant: number) =>
      accounts.masterKey.seal(JSON.stringify({ ...own, until: instant }), name).toString('base64url')
    expect(await shown(until(Date.now() + 60_000))).toContain('Install Tidy')
    expect(await shown(until(Date.now() - 1))).toContain('name="password"')
    expect(await shown(`${cookie?.value.slice(0, -4)}AAAA`)).toContain('name="password"')
  })
})
