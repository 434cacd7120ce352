import { randomUUID } from 'node:crypto'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createInstallation, type Tenant } from '@berth/testing/api/tenant.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { GitHubWorkers } from '@berth/testing/environments/github-workers.ts'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { provideOwnInstallation } from '../../src/accounts/installations/own-installation.ts'
import { findSessionAccounts } from '../../src/repositories/session-accounts.ts'

let github: GitHubWorkers
beforeAll(async () => {
  github = await GitHubWorkers.start()
})
afterAll(() => github[Symbol.asyncDispose]())
afterEach(() => github.server.mend())

/** Returns what the terminal Event of an apply tells of Git hosts. */
async function reported(api: Api, document: object = {}): Promise<unknown> {
  const session = await github.begin('true', document, api)
  const events = await api.runEnded(session.id, session.activeRunId ?? '')
  const applied = events.findLast(({ type }) => type === 'svc.environment.apply')
  return applied?.data['github']
}

it('says that a Session gets tokens, and whose, at most sixteen, with those of the document first', async () => {
  await using _worker = await github.work()
  const { tenant, api } = await github.test.newTenant()
  const names = Array.from({ length: 17 }, (_, index) => `owner-${String.fromCharCode(97 + index)}`)
  for (const [index, name] of names.entries()) await github.grant(`${name}/one`, String(400 + index), tenant)
  expect(await reported(api)).toEqual({ status: 'granted', owners: names.slice(0, 16) })
  const last = { repository: 'Owner-q/one' }
  expect(await reported(api, { repositories: [last] })).toEqual({
    status: 'granted',
    owners: ['owner-q', ...names.slice(0, 15)],
  })
  github.server.fail({ when: /installations\/400\/access_tokens/, answer: { status: 503 } })
  expect(await reported(api)).toEqual({ status: 'granted', owners: names.slice(1, 16) })
  expect(await reported(api, { github: false })).toBeUndefined()
})

const statements = {
  capability: `update installations set capabilities = array_remove(capabilities, 'svc.cloud.repositories:read') where id = $1`,
  connection: 'update host_connections set revoked_at = now() where installation_id = $1',
  grants: 'update repository_grants set revoked_at = now() where installation_id = $1',
}
const after = (statement: keyof typeof statements) => (tenant: Tenant) =>
  github.test.db.database.query(statements[statement], [tenant.installationId])
const fault = (status: number) => async () =>
  github.server.fail({ when: /installations\/450\/access_tokens/, answer: { status } })

it.each([
  ['no_grant', 'its account is disconnected', after('connection')],
  ['no_grant', 'every repository was revoked', after('grants')],
  ['authority', 'its owner may not read repositories', after('capability')],
  ['authority', 'the host refuses the app', fault(404)],
  ['temporary', 'the host cannot answer', fault(502)],
  [
    'temporary',
    'the host does not answer',
    async () => github.server.fail({ when: /installations\/450\/access_tokens/, answer: 'never' }),
  ],
] as const)('says %s if %s, and the apply succeeds', async (reason, fact, change) => {
  // A host that answers gets the time for it, however busy the machine is.
  // bound: the host does not answer
  await using _worker = await github.work(fact === 'the host does not answer' ? { mintMs: 500 } : {})
  const { tenant, api } = await github.test.newTenant()
  await github.grant(`why-${randomUUID().slice(0, 8)}/one`, '450', tenant)
  await change(tenant)
  expect(await reported(api)).toEqual({ status: 'unavailable', reason })
})

it("uses the connections of the service's own installation for a person's Session", async () => {
  const { tenant, api } = await github.test.newTenant()
  const { database } = github.test.db
  const session = await api.createSession({ runtime: 'shell' })
  const key = { organizationId: tenant.organizationId, sessionId: session.id }
  await github.grant('person/installation', '460', tenant)
  await database.query(`update sessions set owner_kind = 'person', owner_id = $2 where id = $1`, [
    session.id,
    randomUUID(),
  ])
  expect(await findSessionAccounts(database, key)).toEqual({ kind: 'accounts', accounts: [] })
  const own = await provideOwnInstallation({ db: database, clock: systemClock }, tenant.organizationId)
  await github.grant('person/own', '461', { ...tenant, installationId: own.id })
  const found = await findSessionAccounts(database, key)
  expect(found).toMatchObject({ kind: 'accounts', accounts: [{ login: 'person', account: '461' }] })
  await database.query('update organizations set suspended_at = now() where id = $1', [tenant.organizationId])
  expect(await findSessionAccounts(database, key)).toEqual({ kind: 'authority' })
})

it('keeps a token that setup got out of caches, and out of what an image gives to later sandboxes', async () => {
  await using _worker = await github.work()
  const { tenant, api } = await github.test.newTenant()
  await github.grant('leak/one', '470', tenant)
  const applied = async (document: object) => {
    const session = await github.begin('true', document, api)
    const events = await api.runEnded(session.id, session.activeRunId ?? '')
    return events.findLast(({ type }) => type === 'svc.environment.apply')?.data
  }
  const written = { setup: 'mkdir deps && berth-token github > deps/t', cache: { paths: ['deps'] } }
  expect(await applied(written)).toMatchObject({
    status: 'succeeded',
    cache: 'skipped_secret',
    cacheSkip: { reason: 'secret', path: 'deps/t' },
  })
  const prebuilt = { state: 'unavailable', reason: 'secret' }
  const exported = { prebuild: true, setup: 'echo "TOKEN=$(berth-token github)" >> "$BERTH_ENV"' }
  expect(await applied(exported)).toMatchObject({ status: 'succeeded', prebuilt })
  expect(await applied({ prebuild: true, setup: 'berth-token github > ~/t' })).toMatchObject({ prebuilt })
  const cloned = { prebuild: true, setup: 'true', repositories: [{ repository: 'leak/one' }] }
  expect(await applied(cloned)).toMatchObject({ prebuilt: { state: 'unavailable', reason: 'repositories' } })
})

it('keeps what one installation could read out of the cache of another, which may have other grants', async () => {
  await using _worker = await github.work()
  const { tenant, api } = await github.test.newTenant()
  const { organizationId, appSlug } = tenant
  const second = await createInstallation(github.test.db.database, organizationId, appSlug)
  const other = new Api(github.test.url, second.apiKey)
  const cached = { setup: 'mkdir -p deps; echo read >> deps/log', cache: { paths: ['deps'] } }
  const shared = await new Environments(api).make(cached)
  const granted = await new Environments(api).make({ ...cached, github: true })
  const caches = async (id: string) => {
    const seen: unknown[] = []
    for (const caller of [api, other, api, other]) {
      const session = await caller.createSession({ runtime: 'shell', environment: { id } }, 'true')
      const events = await caller.runEnded(session.id, session.activeRunId ?? '')
      seen.push(events.findLast(({ type }) => type === 'svc.environment.apply')?.data['cache'])
    }
    return seen
  }
  expect(await caches(granted.id)).toEqual(['miss', 'miss', 'hit', 'hit'])
  expect(await caches(shared.id)).toEqual(['miss', 'hit', 'hit', 'hit'])
})
