import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { WebhookDelivery } from '@berth/contract'
import { FileBlobs } from '@berth/platform/storage/blobs/file-blobs.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { silentLog } from '@berth/testing/services/log.ts'
import { until } from '@berth/testing/until.ts'
import { Receiver } from '@berth/testing/webhooks/receiver.ts'
import { ScriptedNetwork } from '@berth/testing/webhooks/scripted-network.ts'
import { isGenuine } from '@berth/testing/webhooks/verify-signature.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { appendEvents } from '../../src/sessions/log/append.ts'
import { sealLog } from '../../src/sessions/purge/seal-logs.ts'
import { webhookChores } from '../../src/webhooks/webhook-chores.ts'

const network = new ScriptedNetwork()
const origin = 'http://127.0.0.1:9000'
let accounts: Accounts
let receiver: Receiver
let publisher: Api
let endpoint: { readonly path: string; readonly secret: string; readonly id: string }
beforeAll(async () => {
  receiver = await Receiver.open(null)
  network.ports.set('127.0.0.1:9000', receiver.port)
  accounts = await startAccounts({ network, config: { webhooks: { allow: [origin] } } })
  publisher = (await accounts.person({ permissions: ['organization.applications.manage'] })).api
})
afterAll(async () => {
  await accounts[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
})
beforeEach(async () => {
  receiver.received.length = 0
  receiver.answer = response => response.writeHead(204).end()
  await accounts.test.db.database.query('delete from webhook_endpoints')
  await accounts.test.db.database.query('delete from webhook_deliveries')
  const { appSlug, installationId } = accounts.test.tenant
  const path = `/api/apps/${appSlug}/installations/${installationId}/webhooks`
  const { body } = await publisher.call('POST', path, { url: `${origin}/hook`, families: ['run'] })
  const { id } = body['endpoint'] as { readonly id: string }
  endpoint = { path: `${path}/${id}`, secret: String(body['secret']), id }
})

async function append(sessionId: string, ...types: readonly string[]): Promise<void> {
  const key = { organizationId: accounts.test.tenant.organizationId, sessionId }
  const drafts = types.map(type => ({ type, data: {} }))
  await accounts.test.db.database.transaction(tx => appendEvents(tx, key, drafts, new Date()))
}

async function deliveries(query = ''): Promise<readonly WebhookDelivery[]> {
  const { body } = await publisher.get<{ deliveries: WebhookDelivery[] }>(`${endpoint.path}/deliveries${query}`)
  return body.deliveries
}

const ended = (count: number) =>
  until(`${count} ended deliveries`, async () => {
    const all = await deliveries()
    return all.filter(({ status }) => status !== 'pending').length === count && all
  })

const post = (path: string, body?: object) => publisher.call('POST', endpoint.path + path, body)

describe('the log of deliveries', () => {
  it('shows Events and attempts, the newest first, in pages and by status', async () => {
    const session = await accounts.test.api.createSession()
    await append(session.id, 'svc.run.started', 'svc.run.progress', 'svc.run.completed')
    const [second, first] = await ended(2)
    expect([first?.type, second?.type].toSorted()).toEqual(['svc.run.completed', 'svc.run.started'])
    const log = await accounts.test.api.get<{ events: { id: string; sequence: number }[] }>(
      `/v1/sessions/${session.id}/events`,
    )
    const event = log.body.events.find(({ sequence }) => sequence === first?.sequence)
    expect(first).toEqual({
      id: expect.any(String),
      eventId: event?.id,
      type: expect.any(String),
      sessionId: session.id,
      sequence: event?.sequence,
      status: 'succeeded',
      attempts: [{ at: expect.any(String), durationMs: expect.any(Number), status: 204 }],
    })
    expect(new Set(receiver.ids)).toEqual(new Set([first?.eventId, second?.eventId]))
    const page = await publisher.get<{ deliveries: WebhookDelivery[]; nextCursor: string; hasMore: boolean }>(
      `${endpoint.path}/deliveries?limit=1`,
    )
    expect(page.body).toMatchObject({ deliveries: [{ id: second?.id }], hasMore: true })
    expect(await deliveries(`?limit=1&cursor=${page.body.nextCursor}`)).toMatchObject([{ id: first?.id }])
    expect(await deliveries('?status=failed')).toEqual([])
    expect(await deliveries('?status=succeeded')).toHaveLength(2)
    expect(outcome(await publisher.get(`${endpoint.path}/deliveries?cursor=x`))).toBe('400 invalid_request')
    expect(outcome(await publisher.get(`${endpoint.path}/deliveries?status=lost`))).toBe('400 invalid_request')
  })

  it('tells when a failed one is tried next, and the endpoint tells its last failure', async () => {
    receiver.answer = response => response.writeHead(503).end()
    await append((await accounts.test.api.createSession()).id, 'svc.run.started')
    const [pending] = await until('an attempt', async () => {
      const all = await deliveries()
      return all[0]?.attempts.length === 1 && all
    })
    expect(pending).toMatchObject({ status: 'pending', attempts: [{ status: 503 }] })
    expect(Date.parse(pending?.nextAttemptAt ?? '')).toBeGreaterThan(
      Date.parse(pending?.attempts[0]?.at ?? '') + 59_000,
    )
    const listed = await publisher.get(endpoint.path.slice(0, endpoint.path.lastIndexOf('/')))
    expect(listed.body['endpoints']).toMatchObject([{ lastFailure: { at: expect.any(String), status: 503 } }])
  })
})

describe('sending again', () => {
  it('gives one delivery six new attempts', async () => {
    await append((await accounts.test.api.createSession()).id, 'svc.run.started')
    const [delivery] = await ended(1)
    const answer = await post(`/deliveries/${delivery?.id}/redeliver`)
    expect(answer.status).toBe(202)
    expect(answer.body['delivery']).toMatchObject({ id: delivery?.id, eventId: delivery?.eventId })
    const again = await until('two attempts', async () => {
      const [seen] = await deliveries()
      return seen?.attempts.length === 2 && seen
    })
    expect(again).toMatchObject({ status: 'succeeded', id: delivery?.id })
    expect(receiver.ids).toEqual([delivery?.eventId, delivery?.eventId])
    const { rows } = await accounts.test.db.database.query('select tries from webhook_deliveries')
    expect(rows).toEqual([{ tries: 1 }])
  })

  it("replays a Session's Events after a sequence, those from before the registration too, at most 1 000", async () => {
    const session = await accounts.test.api.createSession()
    const from = session.lastEventSequence
    await accounts.test.db.database.query('update webhook_endpoints set families = $1', [['artifact']])
    const many = Array.from({ length: 1_001 }, () => 'svc.run.started')
    await append(session.id, 'svc.run.completed', 'svc.artifact.omitted', ...many)
    await ended(1)
    await accounts.test.db.database.query('update webhook_endpoints set families = $1', [['run', 'artifact']])
    const answer = await post('/replay', { sessionId: session.id, after: from + 1 })
    expect(answer).toMatchObject({ status: 202, body: { success: true, queued: 1_000, lastSequence: from + 1_001 } })
    const rest = await post('/replay', { sessionId: session.id, after: from + 1_001 })
    expect(rest.body).toMatchObject({ queued: 2, lastSequence: from + 1_003 })
    await until('every Event', () => new Set(receiver.ids).size === 1_002)
    expect(outcome(await post('/replay', { sessionId: session.id, after: -1 }))).toBe('400 invalid_request')
    const other = await (await accounts.test.newTenant()).api.createSession()
    for (const sessionId of [randomUUID(), other.id]) {
      expect(outcome(await post('/replay', { sessionId }))).toBe('404 cloud_session_not_found')
    }
  })

  it('shows, repeats and replays Events of a log that is sealed, with the same bytes', async () => {
    const session = await accounts.test.api.createSession()
    const from = session.lastEventSequence
    await append(session.id, 'svc.run.started', 'svc.run.progress', 'svc.run.completed', 'svc.run.progress')
    const before = await ended(2)
    await until('both bodies', () => receiver.received.length === 2)
    const bodies = receiver.received.map(({ body }) => body.toString()).toSorted()
    const { database } = accounts.test.db
    await database.query("update sessions set archived_at = now() - interval '2 days' where id = $1", [session.id])
    const blobs = await FileBlobs.open(join(accounts.test.dataDir, 'blobs'))
    const key = { organizationId: accounts.test.tenant.organizationId, sessionId: session.id }
    await sealLog({ db: database, blobs }, key, AbortSignal.timeout(60_000))
    const { rows } = await database.query('select sequence from events where session_id = $1', [session.id])
    expect(rows).toHaveLength(1)

    expect(await deliveries()).toEqual(before)
    await post(`/deliveries/${before[0]?.id}/redeliver`)
    await until('a third body', () => receiver.received.length === 3)
    await database.query('delete from webhook_deliveries')
    const replayed = await post('/replay', { sessionId: session.id, after: from })
    expect(replayed.body).toMatchObject({ queued: 2, lastSequence: from + 3 })
    await until('all bodies', () => receiver.received.length === 5)
    const again = receiver.received.slice(3).map(({ body }) => body.toString())
    expect(again.toSorted()).toEqual(bodies)
    const rest = await post('/replay', { sessionId: session.id, after: from + 1 })
    expect(rest.body).toMatchObject({ queued: 1, lastSequence: from + 3 })
    // The next test would take it for its own.
    await until('the last body', () => receiver.received.length === 6)
  })

  it('pings with a signed body that is no Event', async () => {
    const answer = await post('/ping')
    expect(answer.status).toBe(202)
    expect(answer.body['delivery']).toMatchObject({ type: 'svc.webhook.ping', attempts: expect.any(Array) })
    const [delivery] = await ended(1)
    expect(delivery).toMatchObject({ type: 'svc.webhook.ping', status: 'succeeded' })
    expect(delivery).not.toHaveProperty('sessionId')
    const [received] = receiver.received
    if (received === undefined) throw new Error('nothing arrived')
    expect(JSON.parse(received.body.toString())).toEqual({
      id: delivery?.eventId,
      type: 'svc.webhook.ping',
      createdAt: expect.any(String),
      data: { endpointId: endpoint.id },
    })
    expect(isGenuine(received.body, received.signature, endpoint.secret, Date.now() / 1000)).toBe(true)
  })
})

it('redelivery, replay and ping are in the audit log, once each and only if they are done', async () => {
  const session = await accounts.test.api.createSession()
  await append(session.id, 'svc.run.started')
  const [delivery] = await ended(1)
  const deliveryId = delivery?.id
  await post(`/deliveries/${deliveryId}/redeliver`)
  // A replay leaves a delivery under way as it is.
  await until('a second attempt', async () => (await deliveries())[0]?.attempts.length === 2)
  await post('/replay', { sessionId: session.id })
  const pinged = (await post('/ping')).body['delivery'] as WebhookDelivery
  for (const refused of [`/deliveries/${randomUUID()}/redeliver`, '/replay']) {
    expect((await post(refused, refused === '/replay' ? { sessionId: randomUUID() } : undefined)).status).toBe(404)
  }
  const { rows } = await accounts.test.db.database.query<{ organization_id: string; action: string; details: object }>(
    `select organization_id, action, details from audit_log
     where target = 'webhook endpoint ' || $1::text and action <> 'webhook.registered' order by at, action`,
    [endpoint.id],
  )
  const { organizationId: organization_id, installationId } = accounts.test.tenant
  const row = (action: string, details: object) => ({
    organization_id,
    action,
    details: { installationId, ...details },
  })
  expect(rows).toHaveLength(3)
  expect(rows).toEqual(
    expect.arrayContaining([
      row('webhook.redelivered', { deliveryId }),
      row('webhook.replayed', { sessionId: session.id, after: 0, queued: 1 }),
      row('webhook.pinged', { deliveryId: pinged.id }),
    ]),
  )
})

describe('what does not belong to the caller', () => {
  it('is missing', async () => {
    const unknown = endpoint.path.replace(endpoint.id, randomUUID())
    const calls = (api: Api, path: string) => [
      api.get(`${path}/deliveries`),
      api.call('POST', `${path}/deliveries/${randomUUID()}/redeliver`),
      api.call('POST', `${path}/replay`, { sessionId: randomUUID() }),
      api.call('POST', `${path}/ping`),
    ]
    const own = await Promise.all(calls(publisher, unknown))
    expect(own.map(outcome)).toEqual(Array(4).fill('404 webhook_endpoint_not_found'))
    const { organizationId } = (await accounts.test.newTenant()).tenant
    const stranger = (await accounts.person({ organizationId, role: 'admin' })).api
    const foreign = await Promise.all(calls(stranger, endpoint.path))
    expect(foreign.map(outcome)).toEqual(Array(4).fill('404 installation_not_found'))
    expect(outcome(await post(`/deliveries/${randomUUID()}/redeliver`))).toBe('404 webhook_delivery_not_found')
  })
})

describe('deliveries that have ended', () => {
  it('are kept for 7 days after a success, for 30 after a failure, and not without their endpoint', async () => {
    const { database } = accounts.test.db
    const rows: readonly (readonly [string, number | null, string])[] = [
      ['succeeded', 6.9, endpoint.id],
      ['succeeded', 7.1, endpoint.id],
      ['failed', 29.9, endpoint.id],
      ['failed', 30.1, endpoint.id],
      ['pending', null, endpoint.id],
      ['pending', null, randomUUID()],
    ]
    const now = new Date()
    for (const [status, days, endpointId] of rows) {
      await database.query(
        `insert into webhook_deliveries (endpoint_id, organization_id, body, status, due_at, created_at, ended_at)
         values ($1, $1, '{}', $2, now() + interval '1 day', now(), $3)`,
        [endpointId, status, days === null ? null : new Date(now.getTime() - days * 86_400_000)],
      )
    }
    const [chore] = webhookChores({ db: database, clock: { now: () => now }, log: silentLog as never })
    await chore?.work(AbortSignal.timeout(60_000))
    const left = await database.query<{ status: string }>('select status from webhook_deliveries order by status')
    expect(left.rows.map(({ status }) => status)).toEqual(['failed', 'pending', 'succeeded'])
  })
})
