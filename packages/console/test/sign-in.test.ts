import { randomUUID } from 'node:crypto'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { ConsolePage, personWithPassword } from '@berth/testing/console/console-page.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let accounts: Accounts
beforeAll(async () => {
  accounts = await startAccounts({ variables: { BERTH_TRUSTED_PROXIES: '127.0.0.1' } })
})
afterAll(() => accounts[Symbol.asyncDispose]())

const db = () => accounts.test.db.database
const newPage = () => new ConsolePage(accounts.test.url, accounts.test.tenant.organizationId)
const newPerson = (access = {}) => personWithPassword(db(), accounts.test.tenant.organizationId, access)

async function signedIn(access = {}) {
  const person = await newPerson(access)
  const page = newPage()
  await page.signIn(person)
  return { person, page }
}

describe('signing in', () => {
  it('asks the account service, and returns to the page with a cookie', async () => {
    const person = await newPerson()
    const page = newPage()
    const landed = await page.signIn(
      person,
      `/cloud/auth/sign-in?return_to=${encodeURIComponent('/sessions/1?panel=changes')}`,
    )
    expect(landed.url).toBe(`${accounts.test.url}/sessions/1?panel=changes`)
    expect(await page.identity()).toMatchObject({
      features: { github: false, billing: false },
      user: { id: person.personId, email: person.email },
      memberships: [{ id: person.membershipId, role: 'member' }],
      membershipId: person.membershipId,
    })
    expect(outcome(await page.get('/cloud/v1/sessions'))).toBe('200')
  })

  it('sets a cookie that no script reads and no other site sends', async () => {
    const { page } = await signedIn()
    const again = await page.browser.get('/cloud/auth/sign-in')
    expect(again.status).toBeLessThan(600)
    const [name = '', value = ''] = page.cookie?.split('=') ?? []
    expect(name).toMatch(/^svc_console_[0-9a-f]{12}$/)
    expect(Buffer.from(value, 'base64url')).toHaveLength(32)
    expect(page.browser.cookies.get(name)?.attributes?.toSorted()).toEqual(['HttpOnly', 'Path=/', 'SameSite=Strict'])
    const { rows } = await db().query<{ row: string }>('select to_jsonb(c)::text as row from console_sessions c')
    const secret = Buffer.from(value, 'base64url')
    const spellings = [value, secret.toString('hex'), secret.toString('base64')]
    for (const { row } of rows) for (const spelling of spellings) expect(row).not.toContain(spelling)
  })

  it('gives a new cookie at each sign-in, and the old one is nothing any more', async () => {
    const { page, person } = await signedIn()
    const { cookie } = page
    await page.signIn(person)
    expect(page.cookie).not.toBe(cookie)
    expect(outcome(await page.get('/cloud/auth/session', { cookie }))).toBe('401 sign_in_required')
    expect(outcome(await page.get('/cloud/auth/session'))).toBe('200')
    const { body } = await page.get('/cloud/auth/sessions')
    expect(body['sessions']).toHaveLength(1)
  })

  it.each([
    '//evil.example/x',
    '/\\evil.example',
    'https://evil.example/',
    'javascript:alert(1)',
    '/\t/evil.example',
    '/..//evil.example',
    '/cloud/auth/sign-in',
    `/${'x'.repeat(2000)}`,
  ])('returns to no other place than a page: %s', async path => {
    const person = await newPerson()
    const landed = await newPage().signIn(person, `/cloud/auth/sign-in?return_to=${encodeURIComponent(path)}`)
    expect(landed.url).toBe(`${accounts.test.url}/`)
  })

  it('takes no answer that the browser did not ask for', async () => {
    const person = await newPerson()
    const [victim, attacker] = [newPage(), newPage()]
    // The attacker stops before the callback, and lets the victim's browser finish the sign-in.
    await attacker.browser.get('/cloud/auth/sign-in')
    const begun = await victim.browser.get('/cloud/auth/callback?code=x&state=y&iss=z')
    expect(new URL(begun.url).search).toBe('?error=expired')
    await victim.browser.get('/cloud/auth/sign-in')
    const mixed = await victim.browser.get('/cloud/auth/callback?code=x&state=y')
    expect(new URL(mixed.url).search).toBe('?error=expired')
    expect(victim.cookie).toBeNull()
    expect(person.email).toBeTruthy()
  })

  it('says at the page when the person may not sign in', async () => {
    const person = await newPerson()
    await db().query('update memberships set revoked_at = now() where id = $1', [person.membershipId])
    const page = newPage()
    const shown = await page.signIn(person)
    expect([new URL(shown.url).pathname, new URL(shown.url).search, page.cookie]).toEqual([
      '/sign-in',
      '?error=refused',
      null,
    ])
  })

  it('puts no token into the page or an answer', async () => {
    const { page } = await signedIn()
    const texts = await Promise.all(
      ['/', '/cloud/auth/session', '/cloud/auth/sessions', '/cloud/v1/me', '/cloud/account/sign-ins'].map(
        async path => (await page.get(path)).text,
      ),
    )
    for (const text of texts) expect(text).not.toMatch(/eyJ|access_token|refresh_token|id_token/)
  })
})

describe('a session', () => {
  const sql = (text: string, id: string, ...more: unknown[]) => db().query(text, [id, ...more])
  const idOf = async (page: ConsolePage) => (await page.identity()).session.id

  it.each([
    ['idle for 12 hours', `update console_sessions set seen_at = now() - interval '12 hours 1 second' where id = $1`],
    ['older than its bound', `update console_sessions set expires_at = now() - interval '1 second' where id = $1`],
    [
      'whose sign-in has ended',
      'update sign_ins set ended_at = now() where id = (select sign_in_id from console_sessions where id = $1)',
    ],
    [
      'whose person is disabled',
      'update people set disabled_at = now() where id = (select person_id from console_sessions where id = $1)',
    ],
  ])('has ended if it is one %s', async (_, change) => {
    const { page } = await signedIn()
    await sql(change, await idOf(page))
    expect(outcome(await page.get('/cloud/auth/session'))).toBe('401 sign_in_required')
    expect(outcome(await page.get('/cloud/v1/sessions'))).toBe('401 sign_in_required')
  })

  it('goes on while it is used, and its use is noted to the minute', async () => {
    const { page } = await signedIn()
    const id = await idOf(page)
    await sql(`update console_sessions set seen_at = now() - interval '11 hours' where id = $1`, id)
    const { lastUsedAt } = (await page.identity()).session
    expect(Date.now() - Date.parse(lastUsedAt)).toBeLessThan(600_000)
  })

  it('ends with a removal from the organization at the next request', async () => {
    const { page, person } = await signedIn()
    await sql('update memberships set revoked_at = now() where id = $1', person.membershipId)
    expect(outcome(await page.get('/cloud/v1/sessions'))).toBe('404 organization_not_found')
    expect((await page.identity()).memberships).toEqual([])
  })

  it('is for the organization that each request names', async () => {
    const { page, person } = await signedIn()
    const { organizationId } = await createTenant(db())
    expect(outcome(await page.get('/cloud/v1/sessions', { 'x-svc-organization': organizationId }))).toBe(
      '404 organization_not_found',
    )
    await db().query(
      `insert into memberships (id, organization_id, person_id, role, created_at) values ($1, $2, $3, 'admin', now())`,
      [randomUUID(), organizationId, person.personId],
    )
    const me = await page.get('/cloud/v1/me', { 'x-svc-organization': organizationId })
    expect(me.body).toMatchObject({ organizationId, membership: { role: 'admin' } })
    expect((await page.get('/cloud/v1/me')).body).toMatchObject({ membership: { role: 'member' } })
  })

  it('is listed among the browsers of its person, who can end it from another', async () => {
    const { page, person } = await signedIn()
    const other = newPage()
    await other.signIn(person)
    const { body } = await page.get('/cloud/auth/sessions')
    const sessions = body['sessions'] as { id: string; current: boolean }[]
    expect(sessions.map(({ current }) => current).sort()).toEqual([false, true])
    const theirs = sessions.find(({ current }) => !current)?.id
    const stranger = await signedIn()
    expect(outcome(await stranger.page.call('DELETE', `/cloud/auth/sessions/${theirs}`))).toBe('404 sign_in_not_found')
    expect(outcome(await page.call('DELETE', `/cloud/auth/sessions/${theirs}`))).toBe('204')
    expect(outcome(await page.call('DELETE', `/cloud/auth/sessions/${theirs}`))).toBe('404 sign_in_not_found')
    expect(outcome(await other.get('/cloud/auth/session'))).toBe('401 sign_in_required')
    expect(outcome(await page.get('/cloud/auth/session'))).toBe('200')
  })

  it('ends by signing out, with its sign-in, and the cookie is taken back', async () => {
    const { page } = await signedIn()
    const { cookie } = page
    const { signInId } = (
      await db().query<{ signInId: string }>('select sign_in_id as "signInId" from console_sessions where id = $1', [
        await idOf(page),
      ])
    ).rows[0] ?? { signInId: '' }
    const answer = await page.call('POST', '/cloud/auth/sign-out')
    expect(answer.status).toBe(200)
    expect(String(answer.body['url'])).toContain(`${accounts.test.url}/oidc/session/end`)
    expect(answer.headers.get('set-cookie')).toMatch(
      /^svc_console_\w+=; Path=\/; Max-Age=0; HttpOnly; SameSite=Strict$/,
    )
    expect(outcome(await page.get('/cloud/auth/session', { cookie }))).toBe('401 sign_in_required')
    const { rows } = await db().query('select 1 from sign_ins where id = $1 and ended_at is not null', [signInId])
    expect(rows).toHaveLength(1)
    // The account service asks, and comes back to the page that says so.
    const form = await page.browser.get(String(answer.body['url']))
    const shown = await page.browser.submit(form)
    expect(new URL(shown.url).pathname).toBe('/signed-out')
  })

  it('ends with every sign-in of its person, as a reset of the password ends them', async () => {
    const { page, person } = await signedIn()
    const admin = await accounts.person({ role: 'admin' })
    const { organizationId } = accounts.test.tenant
    const path = `/api/organizations/${organizationId}/members/${person.membershipId}/reset`
    expect(outcome(await admin.api.call('POST', path, { secondFactor: true }))).toBe('201')
    expect(outcome(await page.get('/cloud/auth/session'))).toBe('401 sign_in_required')
  })
})

describe('proving once more who is there', () => {
  const aged = (page: ConsolePage) =>
    page
      .identity()
      .then(({ session }) =>
        db().query(`update console_sessions set signed_in_at = now() - interval '11 minutes' where id = $1`, [
          session.id,
        ]),
      )
  const invite = (page: ConsolePage) =>
    page.call('POST', `/cloud/account/organizations/${page.organizationId}/invitations`, {
      email: `${randomUUID()}@example.test`,
    })

  it('is needed for keys and roles once the sign-in is ten minutes old', async () => {
    const { page, person } = await signedIn({ role: 'admin' })
    expect(outcome(await invite(page))).toBe('201')
    await aged(page)
    expect(outcome(await invite(page))).toBe('403 recent_sign_in_required')
    const { cookie } = page
    const begun = await page.call('POST', '/cloud/auth/step-up', { returnTo: '/organization/members' })
    expect(begun.status).toBe(200)
    const [pair = ''] = begun.headers.get('set-cookie')?.split(';') ?? []
    const [name = '', value = ''] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]
    page.browser.cookies.set(name, { value, path: '/' })
    const form = await page.browser.get(String(begun.body['url']))
    expect(form.text).toContain('name="password"')
    const landed = await page.signIn(person, String(begun.body['url']))
    expect(new URL(landed.url).pathname).toBe('/organization/members')
    expect(outcome(await invite(page))).toBe('201')
    expect(page.cookie).not.toBe(cookie)
    expect(outcome(await page.get('/cloud/auth/session', { cookie }))).toBe('401 sign_in_required')
  })

  it('is not needed to read', async () => {
    const { page } = await signedIn({ role: 'admin' })
    await aged(page)
    expect(outcome(await page.get(`/cloud/account/organizations/${page.organizationId}/members`))).toBe('200')
  })
})
