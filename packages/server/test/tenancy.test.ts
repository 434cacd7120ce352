import { randomUUID } from 'node:crypto'
import {
  accessCapability,
  type Capability,
  capabilities,
  type GuardedOperationId,
  guardedOperationIds,
  guardedOperationOf,
  type Session,
} from '@berth/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { announceRuntimes } from '../src/runtimes/runtime-hosts.ts'
import { credentialDigest } from '../src/storage/master-key.ts'
import { Api } from './support/api.ts'
import { startTestService, type TestService } from './support/service.ts'
import { createInstallation, type Tenant } from './support/tenant.ts'

let test: TestService
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api' } })
  await announceRuntimes(test.db.database, 'a-host', [], new Date())
})
afterAll(() => test[Symbol.asyncDispose]())

/** Bodies that each operation takes; the table says only what their shape is. */
const bodies: { readonly [Id in GuardedOperationId]?: object } = {
  createSession: {},
  updateSession: { title: 'taken over' },
  submitTurn: { message: 'taken over' },
  createPublication: { revision: '0'.repeat(64), title: 'taken over' },
  createMerge: { strategy: 'merge' },
  decideInteraction: { requestId: 'taken', choice: 'allow_once', idempotencyKey: 'over' },
}

const sessionScoped = guardedOperationIds.filter(id => guardedOperationOf(id).path.includes('{sessionId}'))

/** What an installation needs for an operation beside product access. */
function capabilityOf(id: GuardedOperationId): Capability {
  const { capability, installationCapability = capability } = guardedOperationOf(id)
  return installationCapability
}

interface Target {
  readonly sessionId: string
  readonly turnId: string
  readonly runId: string
}

const noTarget: Target = { sessionId: randomUUID(), turnId: randomUUID(), runId: randomUUID() }

/** Calls an operation on a target, and leaves a stream that opens. */
async function call(id: GuardedOperationId, apiKey: string, target: Target): Promise<[number, unknown]> {
  const { method, path } = guardedOperationOf(id)
  const segments: Readonly<Record<string, string>> = { repositoryId: '1', number: '1', ...target }
  const body = bodies[id]
  const response = await fetch(test.url + path.replaceAll(/\{(\w+)\}/g, (_, name) => segments[name] ?? randomUUID()), {
    method,
    headers: { authorization: `Bearer ${apiKey}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const text = await response.text()
    return [response.status, text === '' ? null : JSON.parse(text)]
  }
  await response.body?.cancel()
  return [response.status, null]
}

/** An installation of the first tenant that holds exactly these. */
const installationWith = (held: readonly Capability[]) =>
  createInstallation(test.db.database, test.tenant.organizationId, test.tenant.appSlug, held)

async function targetOf(api: Api): Promise<Target & { session: Session }> {
  const session = await api.createSession({ title: 'mine' }, 'a')
  const run = await api.run(session.id, session.activeRunId ?? '')
  return { session, sessionId: session.id, turnId: run.turnId, runId: run.id }
}

const notFound = { error: 'cloud_session_not_found' }

describe('a session of someone else', () => {
  let target: Target & { session: Session }
  let stranger: Tenant
  let sibling: { apiKey: string }
  beforeAll(async () => {
    target = await targetOf(test.api)
    stranger = (await test.newTenant()).tenant
    sibling = await installationWith(capabilities)
  })
  afterAll(async () => {
    expect(await test.api.session(target.sessionId)).toEqual(target.session)
    expect(await test.api.events(target.sessionId)).toHaveLength(1)
    expect((await test.api.run(target.sessionId, target.runId)).status).toBe('queued')
  })

  it.each(sessionScoped)('is missing to another installation of the organization: %s', async id => {
    expect(await call(id, sibling.apiKey, target)).toEqual([404, notFound])
  })

  it.each(sessionScoped.filter(id => id !== 'createSession'))('is missing to another organization: %s', async id => {
    expect(await call(id, stranger.apiKey, target)).toEqual([404, notFound])
  })

  it('leaves its id to another organization', async () => {
    const foreign = new Api(test.url, stranger.apiKey)
    const path = `/v1/sessions/${target.sessionId}`
    const made = await foreign.put<{ session: Session }>(path, { title: 'another' })
    expect([made.status, made.body.session.organizationId]).toEqual([201, stranger.organizationId])
    const turn = await foreign.put(`${path}/turns/${target.turnId}`, { message: 'b' })
    expect([turn.status, turn.body.created]).toEqual([202, true])
    expect((await foreign.get(`${path}/runs/${target.runId}`)).body).toEqual(notFound)
  })

  it.each(sessionScoped.filter(id => id !== 'createSession'))('looks like one that there is not: %s', async id => {
    expect(await call(id, test.tenant.apiKey, noTarget)).toEqual([404, notFound])
  })
})

describe('an operation', () => {
  it.each(guardedOperationIds)('asks for its one capability: %s', async id => {
    const capability = capabilityOf(id)
    const without = await installationWith(capabilities.filter(held => held !== capability))
    expect(await call(id, without.apiKey, noTarget)).toEqual([
      403,
      { error: 'insufficient_scope', requiredScope: capability },
    ])
  })

  it.each(guardedOperationIds)('asks for no other than that and product access: %s', async id => {
    const narrow = await installationWith([accessCapability, capabilityOf(id)])
    const [status] = await call(id, narrow.apiKey, { ...noTarget, sessionId: randomUUID() })
    // A form is asked for by its media type only behind these checks.
    expect(guardedOperationOf(id).form === undefined ? [200, 201, 404] : [415]).toContain(status)
  })

  it.each(guardedOperationIds)('is not there without product access: %s', async id => {
    const outside = await installationWith(capabilities.filter(held => held !== accessCapability))
    expect(await call(id, outside.apiKey, noTarget)).toEqual([403, { error: 'cloud_access_denied' }])
  })
})

describe('authority', () => {
  const list = (apiKey: string) => call('listSessions', apiKey, noTarget)
  const invalid = [401, { error: 'invalid_or_expired_credential' }]
  const change = (sql: string, installationId: string, ...values: unknown[]) =>
    test.db.database.query(sql, [installationId, ...values])

  async function standing(): Promise<{ installationId: string; apiKey: string }> {
    const made = await installationWith(capabilities)
    expect((await list(made.apiKey))[0]).toBe(200)
    return made
  }

  it('ends with the key', async () => {
    const { installationId, apiKey } = await standing()
    await change('update api_keys set revoked_at = now() where installation_id = $1', installationId)
    expect(await list(apiKey)).toEqual(invalid)
  })

  it('ends with the installation, for every key of it', async () => {
    const { installationId, apiKey } = await standing()
    await change('update installations set revoked_at = now() where id = $1', installationId)
    expect(await list(apiKey)).toEqual(invalid)
  })

  it.each([
    ['has passed', -1_000, 401],
    ['is to come', 60_000, 200],
  ])('ends when the key expires: one that %s', async (_, fromNow, status) => {
    const { installationId, apiKey } = await standing()
    const sql = 'update api_keys set expires_at = $2 where installation_id = $1'
    await change(sql, installationId, new Date(Date.now() + fromNow))
    expect((await list(apiKey))[0]).toBe(status)
  })

  it('follows what the installation holds now, not what it held', async () => {
    const { installationId, apiKey } = await standing()
    const sql = 'update installations set capabilities = $2 where id = $1'
    await change(sql, installationId, [accessCapability, 'svc.cloud.turns:submit'])
    expect((await list(apiKey))[1]).toMatchObject({ error: 'insufficient_scope' })
    await change(sql, installationId, [accessCapability, 'svc.cloud.sessions:read'])
    expect((await list(apiKey))[0]).toBe(200)
  })

  it('is not what a key of the gateway gives', async () => {
    const { installationId } = await standing()
    const aiKey = `svc_ai_live_${randomUUID()}`
    const sql = `insert into api_keys (id, installation_id, kind, digest, created_at) values ($2, $1, 'ai', $3, now())`
    await change(sql, installationId, randomUUID(), credentialDigest(aiKey))
    expect(await list(aiKey)).toEqual(invalid)
  })

  it('is the installation’s: a second key sees and commands the same', async () => {
    const { installationId, apiKey } = await standing()
    const session = await new Api(test.url, apiKey).createSession({ title: 'a' })
    const secondKey = `svc_cloud_live_${randomUUID()}`
    const sql = `insert into api_keys (id, installation_id, kind, digest, created_at) values ($2, $1, 'cloud', $3, now())`
    await change(sql, installationId, randomUUID(), credentialDigest(secondKey))
    expect(await new Api(test.url, secondKey).session(session.id)).toEqual(session)
  })
})
