import { Browser } from '@berth/testing/accounts/browser.ts'
import type { FarDeployments } from '@berth/testing/accounts/far.ts'
import type { SignedIn } from '@berth/testing/accounts/signer.ts'
import { createTenant, type Tenant } from '@berth/testing/api/tenant.ts'
import { ConsolePage, personWithPassword } from '@berth/testing/console/console-page.ts'
import { startFarConsole } from '@berth/testing/console/far-console.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

let far: FarDeployments
let tenant: Tenant
beforeAll(async () => {
  far = await startFarConsole()
  tenant = await createTenant(accountDb())
})
afterAll(() => far[Symbol.asyncDispose]())
beforeEach(() => {
  far.between.passing = 'through'
})

const accountDb = () => far.account.db.database
const apiDb = () => far.api.db.database
const members = () => `/cloud/account/organizations/${tenant.organizationId}/members`

async function signedIn(access: Parameters<typeof personWithPassword>[2] = {}) {
  const person = await personWithPassword(accountDb(), tenant.organizationId, access)
  const { url } = far.api.process
  const page = new ConsolePage(url, tenant.organizationId, new Browser(url, undefined, [far.account.process.url]))
  const landed = await page.signIn(person, '/cloud/auth/sign-in?return_to=/sessions')
  expect(landed.url).toBe(`${far.api.process.url}/sessions`)
  return { person, page }
}

/** Lets the tokens of all browsers end now. */
const age = () => apiDb().query(`update console_sessions set tokens_expire_at = '2020-01-01'`)
const sealedOf = async () => {
  const text = 'select sealed_tokens as sealed from console_sessions where sealed_tokens is not null order by id'
  return (await apiDb().query<{ sealed: Buffer }>(text)).rows
}
const endMembership = ({ membershipId }: SignedIn) =>
  accountDb().query('update memberships set revoked_at = now() where id = $1', [membershipId])

describe('a console whose account service has another database', () => {
  it('signs a person in over there, and knows who they are', async () => {
    const { person, page } = await signedIn({ role: 'admin' })
    expect(await page.identity()).toMatchObject({
      user: { id: person.personId, name: 'Robin Marsh', email: person.email },
      memberships: [{ id: person.membershipId, role: 'admin', organization: { id: tenant.organizationId } }],
      membershipId: person.membershipId,
      features: { accountsAt: far.account.process.url },
    })
    expect(outcome(await page.get('/cloud/v1/sessions'))).toBe('200')
    expect((await page.get('/cloud/v1/me')).body).toMatchObject({ membershipId: person.membershipId })
  })

  it('keeps tokens sealed, and gives the browser none', async () => {
    const { page } = await signedIn()
    const paths = ['/', '/cloud/auth/session', '/cloud/auth/sessions', '/cloud/v1/me', '/cloud/account/sign-ins']
    for (const path of paths) {
      const { text, headers } = await page.get(path)
      expect(`${text} ${JSON.stringify([...headers])}`).not.toMatch(/eyJ|access_token|refresh_token|id_token/)
    }
    expect(page.cookie).not.toContain('eyJ')
    for (const { sealed } of await sealedOf()) expect(sealed.toString('latin1')).not.toContain('eyJ')
  })

  it('passes on what is about accounts, with its refusals', async () => {
    const { page, person } = await signedIn({ role: 'admin' })
    const list = await page.get(members())
    expect(outcome(list)).toBe('200')
    expect(list.text).toContain(person.email)
    const made = await page.call('POST', `/cloud/account/organizations/${tenant.organizationId}/integrations`, {
      name: 'Robot',
      product: 'svc-cloud',
      capabilities: ['svc.cloud.access', 'svc.cloud.sessions:read'],
    })
    expect(outcome(made)).toBe('201')
    const { rows } = await accountDb().query(`select 1 from installations where name = 'Robot'`)
    expect(rows).toHaveLength(1)
    const last = await page.call('DELETE', `${members()}/${person.membershipId}`)
    expect(outcome(last)).toMatch(/^(204|409 last_administrator)$/)
  })

  it('asks for a recent sign-in as any console does', async () => {
    const { page, person } = await signedIn({ role: 'admin' })
    await apiDb().query(`update console_sessions set signed_in_at = signed_in_at - interval '1 hour'`)
    const invite = () => page.call('DELETE', `${members()}/${person.membershipId}`)
    expect(outcome(await invite())).toBe('403 recent_sign_in_required')
    await page.stepUp(person)
    expect(outcome(await invite())).not.toBe('403 recent_sign_in_required')
  })

  it('renews a token that ends, once for all requests that need it', async () => {
    const { page } = await signedIn()
    const before = await sealedOf()
    await age()
    const answers = await Promise.all(Array.from({ length: 8 }, () => page.get('/cloud/v1/sessions')))
    expect(answers.map(outcome)).toEqual(Array(8).fill('200'))
    expect(await sealedOf()).not.toEqual(before)
    await age()
    expect(outcome(await page.get('/cloud/v1/sessions'))).toBe('200')
  })

  it('refuses at once when the membership has ended over there, and the session is over', async () => {
    const { page, person } = await signedIn()
    await endMembership(person)
    expect(outcome(await page.get('/cloud/v1/sessions'))).toBe('401 sign_in_required')
    expect(outcome(await page.get('/cloud/auth/session'))).toBe('401 sign_in_required')
    const { rows } = await apiDb().query('select 1 from sign_ins where person_id = $1 and ended_at is null', [
      person.personId,
    ])
    expect(rows).toEqual([])
  })

  it('ends the sign-in over there when the person signs out', async () => {
    const { page, person } = await signedIn()
    expect(outcome(await page.call('POST', '/cloud/auth/sign-out'))).toBe('200')
    expect(outcome(await page.get('/cloud/v1/sessions'))).toBe('401 sign_in_required')
    const { rows } = await accountDb().query(
      `select client_id from sign_ins where person_id = $1 and client_id = 'console-eu' and ended_at is null`,
      [person.personId],
    )
    expect(rows).toEqual([])
  })

  it('knows no organization but that of the sign-in', async () => {
    const { page } = await signedIn()
    const other = await createTenant(accountDb())
    const answer = await page.get('/cloud/v1/sessions', { 'x-svc-organization': other.organizationId })
    expect(outcome(answer)).toBe('404 organization_not_found')
  })

  it('says that the account service is away, and goes on when it is back', async () => {
    const { page } = await signedIn()
    far.between.passing = 'broken'
    expect(outcome(await page.get('/cloud/v1/sessions'))).toBe('503 identity_service_unavailable')
    expect(outcome(await page.get('/cloud/auth/session'))).toBe('503 identity_service_unavailable')
    far.between.passing = 'through'
    expect(outcome(await page.get('/cloud/v1/sessions'))).toBe('200')
  })
})
