import { randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { type Capability, capabilities } from '@berth/contract'
import { type Accounts, assert, makeAppKey, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { type Answer, Api } from '@berth/testing/api/api.ts'
import { createInstallation } from '@berth/testing/api/tenant.ts'
import { outcome, refusedFields, tally } from '@berth/testing/runs/outcome.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

interface Key {
  readonly id: string
  readonly kind: string
  readonly hint: string
  readonly lastUsedAt?: string
}

let accounts: Accounts
let organizationId: string
let manager: Api
beforeAll(async () => {
  // bound: a pause between two looks at what a stream may show
  accounts = await startAccounts({ fixed: { streamAuthorityMs: 1000 } })
  ;({ organizationId } = accounts.test.tenant)
  manager = (await accounts.person({ permissions: ['organization.integrations.manage'] })).api
})
afterAll(() => accounts[Symbol.asyncDispose]())

const refused = '401 invalid_or_expired_credential'
const as = (bearer: string) => new Api(accounts.test.url, bearer)
const at = (organization = organizationId) => `/api/organizations/${organization}/integrations`
const create = async (held: readonly Capability[] = capabilities, more: object = {}) => {
  const draft = { name: 'Some integration', product: 'svc-cloud', capabilities: held, ...more }
  return manager.call('POST', at(), draft)
}
const integration = async (held?: readonly Capability[]): Promise<string> => {
  const answer = await create(held)
  expect(answer.status).toBe(201)
  return Object(answer.body['integration']).id
}
const issue = (id: string, body: object = { kind: 'cloud' }) => manager.call('POST', `${at()}/${id}/keys`, body)
const keyOf = ({ body }: Answer) => body['key'] as Key
const secretOf = ({ body }: Answer) => String(body['secret'])

describe('an integration', () => {
  it('is made by whoever may manage integrations, and listed with its keys', async () => {
    const answer = await create(['svc.cloud.access'], { product: accounts.test.tenant.appSlug })
    const made = Object(answer.body['integration'])
    expect(made).toMatchObject({ product: accounts.test.tenant.appSlug, capabilities: ['svc.cloud.access'], keys: [] })
    const key = keyOf(await issue(made.id))
    const { body } = await manager.get<{ integrations: object[] }>(at())
    expect(body.integrations).toContainEqual({ ...made, keys: [key] })
    expect((await manager.get(`${at()}/${made.id}/keys`)).body).toEqual({ success: true, keys: [key] })
    const { installations } = (
      await manager.get<{ installations: object[] }>(`/api/organizations/${organizationId}/installations`)
    ).body
    expect(installations).toContainEqual(expect.objectContaining({ id: made.installationId, kind: 'integration' }))
  })

  it('is not made without the permission, nor of what is no product of the organization', async () => {
    const member = (await accounts.person({})).api
    const answer = await member.call('POST', at(), { name: 'a', product: 'svc-cloud', capabilities: ['svc.ai.invoke'] })
    expect([outcome(answer), answer.body['requiredScope']]).toEqual([
      '403 insufficient_scope',
      'organization.integrations.manage',
    ])
    const foreign = (await accounts.test.newTenant()).tenant.appSlug
    for (const product of [foreign, 'nothing-at-all']) {
      expect(outcome(await create(capabilities, { product }))).toBe('404 app_not_found')
    }
    expect(refusedFields(await create([]))).toBe('400 invalid_request capabilities')
  })
})

describe('an API key', () => {
  it('is random base62 with its checksum, told once, and kept as a digest', async () => {
    const answer = await issue(await integration())
    const secret = secretOf(answer)
    const [, random = '', sum = ''] = /^svc_cloud_live_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/.exec(secret) ?? []
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
    const value = [...sum].reduce((total, digit) => total * 62 + digits.indexOf(digit), 0)
    expect(value).toBe(crc32(random))
    expect(keyOf(answer).hint).toBe(secret.slice(-4))
    const { rows } = await accounts.test.db.database.query<{ row: string }>(
      'select k::text as row from api_keys k where id = $1',
      [keyOf(answer).id],
    )
    expect(rows).toHaveLength(1)
    expect(rows[0]?.row).not.toContain(random)
    expect((await as(secret).get('/v1/sessions')).status).toBe(200)
  })

  it('opens the half of the service that it is for', async () => {
    const id = await integration()
    const [cloud, ai] = [secretOf(await issue(id)), secretOf(await issue(id, { kind: 'ai' }))]
    expect(ai).toMatch(/^svc_ai_live_/)
    expect([(await as(cloud).get('/v1/sessions')).status, (await as(cloud).get('/v1/models')).status]).toEqual([
      200, 401,
    ])
    expect([(await as(ai).get('/v1/sessions')).status, (await as(ai).get('/v1/models')).status]).toEqual([401, 200])
    const narrow = await integration(['svc.cloud.access'])
    expect(refusedFields(await issue(narrow, { kind: 'ai' }))).toBe('400 invalid_request kind')
  })

  it('is one of two active ones of its kind, also if five are asked for at once', async () => {
    const id = await integration()
    const answers = await Promise.all(Array.from({ length: 5 }, () => issue(id)))
    expect(tally(answers)).toEqual({ '201': 2, '409 api_key_limit_reached': 3 })
    expect((await issue(id, { kind: 'ai' })).status).toBe(201)
    const [made] = answers.filter(({ status }) => status === 201).map(keyOf)
    await accounts.test.db.database.query(
      "update api_keys set expires_at = now() - interval '1 minute' where id = $1",
      [made?.id],
    )
    expect((await issue(id)).status).toBe(201)
  })

  it('replaces another in one step', async () => {
    const id = await integration()
    const [old, kept] = [await issue(id), await issue(id)]
    const fresh = await issue(id, { kind: 'cloud', replaces: keyOf(old).id })
    expect(fresh.status).toBe(201)
    expect(outcome(await as(secretOf(old)).get('/v1/sessions'))).toBe(refused)
    for (const key of [kept, fresh]) expect((await as(secretOf(key)).get('/v1/sessions')).status).toBe(200)
    expect(outcome(await issue(id, { kind: 'cloud', replaces: keyOf(old).id }))).toBe('404 api_key_not_found')
    const other = keyOf(await issue(await integration()))
    expect(outcome(await issue(id, { kind: 'cloud', replaces: other.id }))).toBe('404 api_key_not_found')
    expect(refusedFields(await issue(id, { kind: 'ai', replaces: keyOf(kept).id }))).toBe(
      '400 invalid_request replaces',
    )
  })

  it('ends when it was to end, or when it is revoked', async () => {
    const id = await integration()
    expect(refusedFields(await issue(id, { kind: 'cloud', expiresAt: '2020-01-01T00:00:00Z' }))).toBe(
      '400 invalid_request expiresAt',
    )
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const answer = await issue(id, { kind: 'cloud', expiresAt })
    expect(answer.body['key']).toMatchObject({ expiresAt })
    expect((await as(secretOf(answer)).get('/v1/sessions')).status).toBe(200)
    const revoke = () => manager.call('DELETE', `${at()}/${id}/keys/${keyOf(answer).id}`)
    expect([(await revoke()).status, (await revoke()).status]).toEqual([204, 204])
    expect(outcome(await as(secretOf(answer)).get('/v1/sessions'))).toBe(refused)
    expect((await manager.get(`${at()}/${id}/keys`)).body).toEqual({ success: true, keys: [] })
  })

  it('tells when it was last used, to the minute', async () => {
    const id = await integration()
    const [cloud, ai] = [await issue(id), await issue(id, { kind: 'ai' })]
    const used = async () =>
      (await manager.get<{ keys: Key[] }>(`${at()}/${id}/keys`)).body.keys.map(key => key.lastUsedAt)
    expect(await used()).toEqual([undefined, undefined])
    await as(secretOf(cloud)).get('/v1/sessions')
    await as(secretOf(ai)).get('/v1/models')
    const first = await used()
    expect(first).toEqual([expect.any(String), expect.any(String)])
    await as(secretOf(cloud)).get('/v1/sessions')
    expect(await used()).toEqual(first)
  })
})

describe('a grant', () => {
  it('that is changed counts on the next request, of keys and tokens alike', async () => {
    const id = await integration()
    const key = as(secretOf(await issue(id)))
    expect((await key.get('/v1/sessions')).status).toBe(200)
    const patch = (held: readonly string[]) => manager.call('PATCH', `/api/installations/${id}`, { capabilities: held })
    expect((await patch(['svc.cloud.access'])).body).toMatchObject({
      installation: { id, capabilities: ['svc.cloud.access'] },
    })
    expect(outcome(await key.get('/v1/sessions'))).toBe('403 insufficient_scope')
    await patch(['svc.cloud.access', 'svc.cloud.sessions:read'])
    expect((await key.get('/v1/sessions')).status).toBe(200)
    expect(refusedFields(await patch(['svc.everything']))).toBe('400 invalid_request capabilities.0')
  })

  it('that is revoked ends every kind of credential, the open streams, the queued Runs and the connections', async () => {
    const { appSlug } = accounts.test.tenant
    const publisher = (await accounts.person({ role: 'admin' })).api
    const appKey = await makeAppKey()
    await publisher.call('POST', `/api/apps/${appSlug}/keys`, { publicKeyPem: appKey.publicKeyPem })
    const { installationId, apiKey } = await createInstallation(accounts.test.db.database, organizationId, appSlug)
    const ai = secretOf(await issue(installationId, { kind: 'ai' }))
    const exchange = async (path: string, more: object) => {
      const assertion = await assert(appKey, appSlug, accounts.issuer)
      return as('none').call('POST', path, { assertion, installationId, ...more })
    }
    const tokenOf = async (path: string, more: object) => String((await exchange(path, more)).body['token'])
    const cloudToken = await tokenOf('/auth/app-installation-token', { resourceAudience: 'svc-cloud' })
    const aiToken = await tokenOf('/auth/app-installation-token', { resourceAudience: 'svc-ai' })
    const userToken = await tokenOf('/auth/app-end-user-token', { endUserId: 'somebody' })
    await accounts.test.db.database.query(
      `insert into host_connections
         (id, organization_id, installation_id, host, provider, account, account_login, whole, created_at)
       values ($1, $2, $3, 'a', 'local', 'b', 'b', true, now())`,
      [randomUUID(), organizationId, installationId],
    )
    const owner = as(apiKey)
    const session = await owner.createSession({}, 'a')
    const run = await owner.run(session.id, session.activeRunId ?? '')
    expect(run.status).toBe('queued')
    const stream = await fetch(`${accounts.test.url}/v1/sessions/${session.id}/events/stream?after=0`, {
      headers: { authorization: `Bearer ${apiKey}` },
    })
    const statuses = () =>
      Promise.all([
        owner.get('/v1/sessions').then(outcome),
        as(cloudToken).get('/v1/sessions').then(outcome),
        ...[ai, aiToken, userToken].map(async bearer => String((await as(bearer).get('/v1/models')).status)),
      ])
    expect(await statuses()).toEqual(['200', '200', '200', '200', '200'])

    const revoke = () => manager.call('DELETE', `/api/installations/${installationId}`)
    expect((await revoke()).status).toBe(204)
    expect(await statuses()).toEqual([refused, refused, '401', '401', '401'])
    expect(outcome(await exchange('/auth/app-installation-token', { resourceAudience: 'svc-cloud' }))).toBe(
      '404 installation_not_found',
    )
    await stream.text()
    const ended = await until('an end of the Run', async () => {
      const seen = await publisher.run(session.id, run.id)
      return seen.status === 'failed' ? seen : undefined
    })
    expect(ended).toMatchObject({ errorCode: 'authority_revoked_dispatch' })
    const { rows } = await accounts.test.db.database.query(
      `select 1 from host_connections where installation_id = $1 and revoked_at is null
       union all select 1 from api_keys where installation_id = $1 and revoked_at is null`,
      [installationId],
    )
    expect(rows).toEqual([])
    expect((await revoke()).status).toBe(204)
    expect(outcome(await manager.call('PATCH', `/api/installations/${installationId}`, { capabilities }))).toBe(
      '404 installation_not_found',
    )
  })

  it('of an integration ends with it', async () => {
    const id = await integration()
    const key = as(secretOf(await issue(id)))
    expect((await key.get('/v1/sessions')).status).toBe(200)
    expect((await manager.call('DELETE', `${at()}/${id}`)).status).toBe(204)
    expect(outcome(await key.get('/v1/sessions'))).toBe(refused)
    expect(outcome(await issue(id))).toBe('404 integration_not_found')
  })
})

describe('what belongs to another organization', () => {
  it('is missing, whichever way it is asked for', async () => {
    const other = (await accounts.test.newTenant()).tenant
    const stranger = (await accounts.person({ organizationId: other.organizationId, role: 'admin' })).api
    const id = await integration()
    const key = keyOf(await issue(id))
    const inOwn = at(other.organizationId)
    const body = { name: 'a', product: 'svc-cloud', capabilities: ['svc.cloud.access'] }
    const answers: Record<string, Answer[]> = {
      '404 organization_not_found': [
        await stranger.get(at()),
        await stranger.call('POST', at(), body),
        await stranger.get(`/api/organizations/${organizationId}/installations`),
        await stranger.call('DELETE', `${at()}/${id}`),
        await stranger.get(`${at()}/${id}/keys`),
        await stranger.call('POST', `${at()}/${id}/keys`, { kind: 'cloud' }),
        await stranger.call('DELETE', `${at()}/${id}/keys/${key.id}`),
      ],
      '404 integration_not_found': [
        await stranger.call('DELETE', `${inOwn}/${id}`),
        await stranger.get(`${inOwn}/${id}/keys`),
        await stranger.call('POST', `${inOwn}/${id}/keys`, { kind: 'cloud' }),
        await stranger.call('DELETE', `${inOwn}/${id}/keys/${key.id}`),
      ],
      '404 installation_not_found': [
        await stranger.call('PATCH', `/api/installations/${id}`, { capabilities: ['svc.cloud.access'] }),
        await stranger.call('DELETE', `/api/installations/${id}`),
      ],
    }
    for (const [expected, given] of Object.entries(answers)) {
      expect(given.map(outcome)).toEqual(given.map(() => expected))
    }
    expect(outcome(await manager.call('DELETE', `${at()}/${id}/keys/${randomUUID()}`))).toBe('404 api_key_not_found')
    expect((await manager.get<{ keys: Key[] }>(`${at()}/${id}/keys`)).body.keys).toMatchObject([{ id: key.id }])
  })
})
