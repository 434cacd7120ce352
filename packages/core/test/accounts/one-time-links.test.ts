import { randomBytes } from 'node:crypto'
import { MasterKey } from '@berth/platform/storage/master-key.ts'
import { personToken, signInPerson, startSigner } from '@berth/testing/accounts/signer.ts'
import { Api } from '@berth/testing/api/api.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { issueInvitation, issueReset, linkUrl } from '../../src/accounts/links/one-time-link.ts'
import { verifyPassword } from '../../src/accounts/people/password.ts'
import { findPersonByEmail } from '../../src/accounts/people/person.ts'

const password = 'correct horse battery staple'
const key = randomBytes(32)
let test: TestService
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api,account', BERTH_MASTER_KEY: key.toString('hex') } })
})
afterAll(() => test[Symbol.asyncDispose]())

const invite = async (email: string, organizationId = test.tenant.organizationId, now = new Date()) => {
  const invited = { organizationId, email, role: 'member', permissions: [] } as const
  return linkUrl(test.url, await issueInvitation(test.db.database, invited, null, now))
}
const reset = async (personId: string) =>
  linkUrl(test.url, await issueReset(test.db.database, personId, null, new Date()))
const open = (url: string) => fetch(url)
const send = (url: string, fields: Record<string, string>) =>
  fetch(url, { method: 'POST', body: new URLSearchParams(fields) })
const membersOf = async (organizationId: string, email: string) => {
  const { rows } = await test.db.database.query(
    `select m.role from memberships m join people p on p.id = m.person_id
     where m.organization_id = $1 and p.email = $2 and m.revoked_at is null`,
    [organizationId, email],
  )
  return rows
}
const holds = async (email: string, tried: string) => {
  const person = await findPersonByEmail(test.db.database, email)
  return (await verifyPassword(person?.passwordHash ?? null, tried)).holds
}

/** Fills the buckets of guesses again: all of these people share one address. */
beforeEach(() => test.db.database.query("delete from rate_buckets where key like 'password/%'"))

describe('an invitation', () => {
  it('lets a person choose a name and a password once, and makes them a member', async () => {
    const url = await invite('new@example.test')
    const page = await open(url)
    expect(page.status).toBe(200)
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect(page.headers.get('referrer-policy')).toBe('no-referrer')
    const text = await page.text()
    expect(text).toContain('new@example.test')
    expect(text).not.toContain('<script')
    expect((await send(url, { name: 'New Person', password })).status).toBe(200)
    expect(await membersOf(test.tenant.organizationId, 'new@example.test')).toEqual([{ role: 'member' }])
    expect(await holds('new@example.test', password)).toBe(true)
    expect((await open(url)).status).toBe(404)
    expect((await send(url, { name: 'Again', password })).status).toBe(404)
    const { rows } = await test.db.database.query(
      "select outcome, details from audit_log where action = 'member.joined' and organization_id = $1",
      [test.tenant.organizationId],
    )
    expect(rows).toEqual([{ outcome: 'done', details: { role: 'member', permissions: [] } }])
  })

  it.each([
    ['without a name', { name: ' ', password }, 'Write your name'],
    ['with a short password', { name: 'Some Body', password: 'short' }, 'at least 12 characters'],
    ['with the email as the password', { name: 'Some Body', password: 'fault@example.test' }, 'not a password'],
  ])('can be tried again if it was sent %s', async (_, fields, hint) => {
    const url = await invite('fault@example.test')
    const answer = await send(url, fields)
    expect(answer.status).toBe(422)
    expect(await answer.text()).toContain(hint)
    expect((await open(url)).status).toBe(200)
    expect(await findPersonByEmail(test.db.database, 'fault@example.test')).toBeNull()
  })

  it('adds a person who has an account only by the password of that account, and leaves it as it is', async () => {
    const email = 'both@example.test'
    await send(await invite(email), { name: 'Both', password })
    const { tenant } = await test.newTenant()
    const url = await invite(email, tenant.organizationId)
    const refused = await send(url, { name: 'Somebody else', password: 'a password of somebody else' })
    expect(refused.status).toBe(422)
    expect(await membersOf(tenant.organizationId, email)).toEqual([])
    expect((await send(url, { password })).status).toBe(200)
    expect(await membersOf(tenant.organizationId, email)).toHaveLength(1)
    expect(await findPersonByEmail(test.db.database, email)).toMatchObject({ name: 'Both' })
    expect(await holds(email, password)).toBe(true)
  })

  it('bounds guesses at the password of an account, however often that account is invited', async () => {
    const email = 'guessed@example.test'
    await send(await invite(email), { name: 'Guessed', password })
    const { tenant } = await test.newTenant()
    const url = await invite(email, tenant.organizationId)
    const guesses: number[] = []
    for (let guess = 0; guess < 6; guess += 1)
      guesses.push((await send(url, { password: `wrong guess ${guess}` })).status)
    expect(guesses).toEqual([422, 422, 422, 422, 422, 429])
    const limited = await send(url, { password })
    expect([limited.status, Number(limited.headers.get('retry-after')) > 0]).toEqual([429, true])
    expect(await membersOf(tenant.organizationId, email)).toEqual([])
  })

  it('ends after a day, with its organization, and with the next invitation of the same email', async () => {
    const yesterday = new Date(Date.now() - 24 * 60 * 60_000 - 1000)
    expect((await open(await invite('late@example.test', undefined, yesterday))).status).toBe(404)
    const { tenant } = await test.newTenant()
    const first = await invite('twice@example.test', tenant.organizationId)
    const second = await invite('TWICE@example.test', tenant.organizationId)
    expect((await open(first)).status).toBe(404)
    expect((await open(second)).status).toBe(200)
    await test.db.database.query('update organizations set suspended_at = now() where id = $1', [tenant.organizationId])
    expect((await open(second)).status).toBe(404)
  })

  it('escapes what it shows, and refuses a body that is no form', async () => {
    const url = await invite('"><script>alert(1)</script>@example.test')
    const answer = await send(url, { name: '"><script>x', password: 'short' })
    expect(await answer.text()).not.toContain('<script')
    const json = await fetch(url, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } })
    expect(json.status).toBe(415)
    expect((await send(url, { name: 'x'.repeat(20_000) })).status).toBe(413)
  })

  it('is kept as a digest alone', async () => {
    const url = await invite('digest@example.test')
    const { rows } = await test.db.database.query<{ row: string }>('select l::text as row from one_time_links l')
    const secret = url.split('/').at(-1) ?? ''
    expect(rows.some(({ row }) => row.includes(secret))).toBe(false)
  })

  it('of one new email to two organizations makes one account, if both are accepted at the same moment', async () => {
    const email = 'twice-new@example.test'
    const { tenant } = await test.newTenant()
    const urls = [await invite(email), await invite(email, tenant.organizationId)]
    const answers = await Promise.all(urls.map(url => send(url, { name: 'New', password })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422])
    const beaten = answers.findIndex(({ status }) => status === 422)
    expect(await answers[beaten]?.text()).toContain('Enter its password')
    expect((await send(urls[beaten] ?? '', { password })).status).toBe(200)
    expect(await membersOf(test.tenant.organizationId, email)).toHaveLength(1)
    expect(await membersOf(tenant.organizationId, email)).toHaveLength(1)
  })

  it('makes one member of two who follow it at the same moment', async () => {
    const url = await invite('race@example.test')
    const answers = await Promise.all([send(url, { name: 'A', password }), send(url, { name: 'B', password })])
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(await membersOf(test.tenant.organizationId, 'race@example.test')).toHaveLength(1)
  })
})

describe('a reset link', () => {
  it('sets the password once, ends the sign-ins, and is told in the audit log', async () => {
    const signer = await startSigner(test.db.database, test.service.settings.urls.authUrl, new MasterKey(key))
    const person = await signInPerson(test.db.database, test.tenant.organizationId)
    const api = new Api(test.url, await personToken(signer.mint, person))
    expect((await api.get('/v1/me')).status).toBe(200)
    const url = await reset(person.personId)
    expect(await (await open(url)).text()).toContain(person.email)
    expect((await send(url, { password: 'short' })).status).toBe(422)
    expect((await api.get('/v1/me')).status).toBe(200)
    expect((await send(url, { password })).status).toBe(200)
    expect(await holds(person.email, password)).toBe(true)
    expect((await api.get('/v1/me')).status).toBe(401)
    expect((await send(url, { password: 'another password of mine' })).status).toBe(404)
    const { rows } = await test.db.database.query(
      "select target from audit_log where action = 'person.password_set' and organization_id = $1",
      [test.tenant.organizationId],
    )
    expect(rows).toEqual([{ target: `person/${person.personId}` }])
  })

  it('ends with the next one, and with the person', async () => {
    const person = await signInPerson(test.db.database, test.tenant.organizationId)
    const [first, second] = [await reset(person.personId), await reset(person.personId)]
    expect((await open(first)).status).toBe(404)
    expect((await open(second)).status).toBe(200)
    await test.db.database.query('update people set disabled_at = now() where id = $1', [person.personId])
    expect((await open(second)).status).toBe(404)
  })
})

it('an address can try only so often', async () => {
  await using metered = await startTestService({
    variables: { BERTH_ROLES: 'account', BERTH_ISSUANCE_RATE_PER_MINUTE: '1' },
    fixed: { issuanceBurstSeconds: 2 * 60 },
  })
  const guess = () => fetch(`${metered.url}/links/guess`)
  expect([(await guess()).status, (await guess()).status]).toEqual([404, 404])
  const limited = await guess()
  expect(limited.status).toBe(429)
  expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await limited.text()).toContain('Too many attempts')
})
