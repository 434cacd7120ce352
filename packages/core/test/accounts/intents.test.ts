import { randomUUID } from 'node:crypto'
import { type Accounts, type AppKeyPair, assert, makeAppKey, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { signInPerson } from '@berth/testing/accounts/signer.ts'
import { type Answer, Api } from '@berth/testing/api/api.ts'
import { outcome, refusedFields } from '@berth/testing/runs/outcome.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decideIntent } from '../../src/accounts/intents/decide-intent.ts'

interface Intent {
  readonly id: string
  readonly status: string
  readonly expiresAt: string
  readonly authorizeUrl: string
  readonly installationId?: string
  readonly setupAuthorityId?: string
}

let accounts: Accounts
let backend: Api
let app: Backend
beforeAll(async () => {
  accounts = await startAccounts()
  backend = new Api(accounts.test.url, 'none')
  app = await newApp()
})
afterAll(() => accounts[Symbol.asyncDispose]())

interface Backend {
  readonly slug: string
  readonly key: AppKeyPair
}

const redirectUrl = 'https://app.example/installed?from=berth'

/** An app of a publisher of its own. */
async function newApp(): Promise<Backend> {
  const { tenant } = await accounts.test.newTenant()
  const { api } = await accounts.person({ organizationId: tenant.organizationId, role: 'admin' })
  const slug = `a-${randomUUID()}`
  await api.call('POST', '/api/apps', { slug, name: 'Some App', redirectUrls: [redirectUrl] })
  const key = await makeAppKey()
  await api.call('POST', `/api/apps/${slug}/keys`, { publicKeyPem: key.publicKeyPem })
  return { slug, key }
}

const assertionOf = ({ key, slug }: Backend) => assert(key, slug, accounts.issuer)
const ask = async (more: Record<string, unknown> = {}, by = app): Promise<Answer> =>
  backend.call('POST', '/api/apps/installation-intents', {
    assertion: await assertionOf(by),
    capabilities: ['svc.cloud.access', 'svc.cloud.sessions:read'],
    ...more,
  })
const read = async (id: string, by = app): Promise<Answer> =>
  backend.call('POST', `/api/apps/installation-intents/${id}/status`, { assertion: await assertionOf(by) })
const intentOf = ({ body }: Answer) => body['intent'] as Intent
const created = async (more: Record<string, unknown> = {}, by = app) => intentOf(await ask(more, by))

const db = () => accounts.test.db.database
const decide = (id: string, membershipId: string, approve: boolean) =>
  db().transaction(tx => decideIntent(tx, id, membershipId, approve, new Date()))
/** Someone of an organization who may consent for it. */
const manager = (organizationId: string) =>
  signInPerson(db(), organizationId, { permissions: ['organization.integrations.manage'] })
const newOrganization = async () => (await accounts.test.newTenant()).tenant.organizationId
const minutesUntil = (instant: string) => Math.round((Date.parse(instant) - Date.now()) / 60_000)

describe('an intent', () => {
  it('waits a quarter of an hour for a person, at a page of the account service', async () => {
    const answer = await ask({ redirectUrl, state: 'x' })
    const intent = intentOf(answer)
    expect([answer.status, intent.status, minutesUntil(intent.expiresAt)]).toEqual([201, 'pending', 15])
    expect(intent.authorizeUrl).toBe(`${accounts.test.service.settings.urls.authUrl}/install/${intent.id}`)
    expect(intent).not.toHaveProperty('installationId')
    expect(intentOf(await read(intent.id))).toEqual(intent)
    await db().query("update installation_intents set expires_at = now() - interval '1 second' where app_slug = $1", [
      app.slug,
    ])
    expect(intentOf(await read(intent.id)).status).toBe('expired')
    expect(await decide(intent.id, (await manager(await newOrganization())).membershipId, true)).toEqual({
      kind: 'gone',
    })
  })

  it('is kept without its id, which is a secret', async () => {
    const { id } = await created()
    const { rows } = await db().query<{ row: string }>('select i::text as row from installation_intents i')
    expect(rows.length).toBeGreaterThan(0)
    for (const { row } of rows) expect(row).not.toContain(id)
  })

  it('asks for capabilities that there are, and names a redirect of its app', async () => {
    expect(refusedFields(await ask({ capabilities: ['svc.cloud.everything'] }))).toBe(
      '400 invalid_request capabilities.0',
    )
    expect(refusedFields(await ask({ capabilities: [] }))).toBe('400 invalid_request capabilities')
    for (const url of [`${redirectUrl}&more`, 'https://app.example/', `${redirectUrl}/`, 'https://evil.example/']) {
      expect(refusedFields(await ask({ redirectUrl: url }))).toBe('400 invalid_request redirectUrl')
    }
    expect(outcome(await ask({ assertion: 'x'.repeat(20) }))).toBe('401 invalid_assertion')
  })

  it('is missing to another app, as one that never was', async () => {
    const { id } = await created()
    expect(outcome(await read(id, await newApp()))).toBe('404 installation_intent_not_found')
    expect(outcome(await read(randomUUID()))).toBe('404 installation_intent_not_found')
    expect(outcome(await read('nothing'))).toBe('400 invalid_path_parameter')
  })

  it('is one of a hundred that wait', async () => {
    const other = await newApp()
    await db().query(
      `insert into installation_intents (digest, app_slug, capabilities, created_at, expires_at)
       select sha256(gen_random_uuid()::text::bytea), $1, '{svc.cloud.access}', now(), now() + interval '10 minutes'
       from generate_series(1, 99)`,
      [other.slug],
    )
    expect((await ask({}, other)).status).toBe(201)
    const answer = await ask({}, other)
    expect(outcome(answer)).toBe('429 cloud_rate_limit_exceeded')
    expect(answer.headers.get('retry-after')).toBe(String(answer.body['retryAfterSeconds']))
  })
})

describe('a consent', () => {
  it('installs the app with what was asked, and tells the app for an hour', async () => {
    const organizationId = await newOrganization()
    const { membershipId } = await manager(organizationId)
    const intent = await created({ redirectUrl, state: 'a b&c' })
    const decision = await decide(intent.id, membershipId, true)
    expect(decision).toMatchObject({ kind: 'authorized', redirect: `${redirectUrl}&state=a%20b%26c` })
    const status = intentOf(await read(intent.id))
    expect(status).toMatchObject({ status: 'authorized', setupAuthorityId: expect.any(String) })
    expect(minutesUntil(status.expiresAt)).toBe(60)
    const { rows } = await db().query(
      'select organization_id, app_slug, capabilities, kind from installations where id = $1',
      [status.installationId],
    )
    expect(rows).toEqual([
      {
        organization_id: organizationId,
        app_slug: app.slug,
        capabilities: ['svc.cloud.access', 'svc.cloud.sessions:read'],
        kind: 'app',
      },
    ])
    expect(intentOf(await read(intent.id))).toEqual(status)
    expect(await decide(intent.id, membershipId, false)).toEqual({ kind: 'gone' })
  })

  it('leads to tokens that work, and that end with the membership if they name the consent', async () => {
    const { membershipId } = await manager(await newOrganization())
    const intent = await created()
    await decide(intent.id, membershipId, true)
    const { installationId, setupAuthorityId } = intentOf(await read(intent.id))
    const exchange = async (more: object) => {
      const body = { assertion: await assertionOf(app), installationId, resourceAudience: 'svc-cloud', ...more }
      const answer = await backend.call('POST', '/auth/app-installation-token', body)
      return new Api(accounts.test.url, String(answer.body['token']))
    }
    const [bound, free] = [await exchange({ setupAuthorityId }), await exchange({})]
    expect([(await bound.get('/v1/sessions')).status, (await free.get('/v1/sessions')).status]).toEqual([200, 200])
    await db().query('update memberships set revoked_at = now() where id = $1', [membershipId])
    expect(outcome(await bound.get('/v1/sessions'))).toBe('401 invalid_or_expired_credential')
    expect((await free.get('/v1/sessions')).status).toBe(200)
  })

  it('for an app that is installed changes the grant of its installation, which keeps its id', async () => {
    const { membershipId } = await manager(await newOrganization())
    const first = await created()
    await decide(first.id, membershipId, true)
    const second = await created({ capabilities: ['svc.ai.invoke'] })
    await decide(second.id, membershipId, true)
    const [one, two] = [intentOf(await read(first.id)), intentOf(await read(second.id))]
    expect(two.installationId).toBe(one.installationId)
    expect(two.setupAuthorityId).not.toBe(one.setupAuthorityId)
    const { rows } = await db().query('select capabilities from installations where id = $1', [two.installationId])
    expect(rows).toEqual([{ capabilities: ['svc.ai.invoke'] }])
  })

  it('is given once, whoever decides at the same moment', async () => {
    const members = await Promise.all([1, 2, 3, 4].map(async () => manager(await newOrganization())))
    const intent = await created()
    const decisions = await Promise.all(members.map(({ membershipId }) => decide(intent.id, membershipId, true)))
    expect(decisions.map(({ kind }) => kind).sort()).toEqual(['authorized', 'gone', 'gone', 'gone'])
  })

  it('makes one installation of two at the same moment', async () => {
    const { membershipId } = await manager(await newOrganization())
    const intents = await Promise.all([created(), created()])
    const decisions = await Promise.all(intents.map(({ id }) => decide(id, membershipId, true)))
    const ids = decisions.map(decision => decision.kind === 'authorized' && decision.installationId)
    expect(ids[0]).toEqual(expect.any(String))
    expect(ids[1]).toBe(ids[0])
  })

  it('that is denied ends the intent, and sends the state back all the same', async () => {
    const { membershipId } = await manager(await newOrganization())
    const intent = await created({ redirectUrl, state: 'x' })
    expect(await decide(intent.id, membershipId, false)).toEqual({
      kind: 'denied',
      redirect: `${redirectUrl}&state=x`,
    })
    const status = intentOf(await read(intent.id))
    expect([status.status, status.installationId, status.setupAuthorityId]).toEqual(['expired', undefined, undefined])
  })

  it('is for those who may manage integrations, and for nobody who has left', async () => {
    const organizationId = await newOrganization()
    const intent = await created()
    const member = await signInPerson(db(), organizationId)
    const gone = await manager(organizationId)
    await db().query('update memberships set revoked_at = now() where id = $1', [gone.membershipId])
    for (const { membershipId } of [member, gone, { membershipId: randomUUID() }]) {
      expect(await decide(intent.id, membershipId, true)).toEqual({ kind: 'forbidden' })
    }
    expect(intentOf(await read(intent.id)).status).toBe('pending')
    const admin = await signInPerson(db(), organizationId, { role: 'admin' })
    expect(await decide(intent.id, admin.membershipId, true)).toMatchObject({ kind: 'authorized' })
  })

  it('is over once the installation is revoked', async () => {
    const { membershipId } = await manager(await newOrganization())
    const intent = await created()
    await decide(intent.id, membershipId, true)
    const { installationId } = intentOf(await read(intent.id))
    await db().query('update installations set revoked_at = now() where id = $1', [installationId])
    const status = intentOf(await read(intent.id))
    expect([status.status, status.installationId]).toEqual(['expired', undefined])
  })
})
