import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PushMessage, Session } from '@berth/contract'
import { MasterKey } from '@berth/platform/storage/master-key.ts'
import { announce, topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { personToken, signInPerson, startSigner } from '@berth/testing/accounts/signer.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { openInteraction } from '@berth/testing/console/session-rows.ts'
import { SubscribedBrowser } from '@berth/testing/push/subscribed-browser.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { WorkerStandIn } from '@berth/testing/runs/states.ts'
import { databaseUrl, shortFence, testVariables } from '@berth/testing/services/service.ts'
import { type ServiceProcess, startServiceProcess } from '@berth/testing/services/service-process.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { until } from '@berth/testing/until.ts'
import { Receiver } from '@berth/testing/webhooks/receiver.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** A claim of a process that was killed lapses after an attempt's time and the fence. */
const patienceMs = 90_000

const stack = new AsyncDisposableStack()
const browser = new SubscribedBrowser()
let db: TestDatabase
let receiver: Receiver
let service: ServiceProcess
let variables: Record<string, string>
let api: Api
beforeAll(async () => {
  receiver = stack.use(await Receiver.open(null))
  db = stack.use(await createTestDatabase())
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-pushes-'))
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  const origin = `http://127.0.0.1:${receiver.port}`
  await writeFile(join(dataDir, 'berth.json'), JSON.stringify({ webhooks: { allow: [origin] } }), { mode: 0o600 })
  const key = randomBytes(32)
  variables = {
    ...testVariables,
    ...shortFence,
    BERTH_ROLES: 'api,account,gateway',
    BERTH_DATA_DIR: dataDir,
    BERTH_MASTER_KEY: key.toString('hex'),
    DATABASE_URL: databaseUrl(db),
  }
  stack.defer(() => service.kill())
  service = await startServiceProcess(variables)
  variables['BERTH_PORT'] = new URL(service.url).port
  const { organizationId } = await createTenant(db.database)
  const { mint } = await startSigner(db.database, service.url, new MasterKey(key))
  api = new Api(service.url, await personToken(mint, await signInPerson(db.database, organizationId)))
  const subscription = browser.asks(`${origin}/${randomUUID()}`)
  expect(outcome(await api.put(`/cloud/push-subscriptions/${browser.id}`, subscription))).toBe('200')
})
afterAll(() => stack.disposeAsync())

async function restart(): Promise<void> {
  await service.kill()
  service = await startServiceProcess(variables)
}

/** Lets an agent ask, and returns once the notice is queued. */
async function asking(title: string): Promise<Session> {
  const session = await api.createSession({ title }, 'a')
  await new WorkerStandIn(db.database).start(session, session.activeRunId ?? '')
  await openInteraction(db.database, session, { kind: 'approval', deadline: null })
  await announce(db.database, topics.session(session.organizationId, session.id))
  await until('the notice', async () => (await noticesOf(session)).length === 1, patienceMs)
  return session
}

const noticesOf = async ({ id }: Session) =>
  (
    await db.database.query<{ ended_at: Date | null }>('select ended_at from push_deliveries where session_id = $1', [
      id,
    ])
  ).rows
const hurry = () => db.database.query('update push_deliveries set due_at = created_at where ended_at is null')
const settled = (session: Session) =>
  until('the end of the notice', async () => (await noticesOf(session))[0]?.ended_at != null, patienceMs)

/** A push of a Session: the ones that it replaces at the push service, and at the device. */
const arrivedOf = ({ id }: Session) =>
  receiver.received.flatMap(({ rawHeaders, body }) => {
    const message = JSON.parse(browser.read(body)) as PushMessage
    const topic = rawHeaders[rawHeaders.findIndex((text, at) => at % 2 === 0 && text.toLowerCase() === 'topic') + 1]
    return message.sessionId === id ? [{ topic, sessionId: message.sessionId, title: message.title }] : []
  })

describe('a notice whose process is killed', () => {
  it('before it was sent arrives once', async () => {
    receiver.answer = response => response.writeHead(201).end()
    const session = await asking('Killed before')
    await restart()
    await hurry()
    await settled(session)
    expect(arrivedOf(session)).toHaveLength(1)
  })

  it('while it was sent arrives again under the same topic, so a device shows one', async () => {
    // The push service has it, and its answer never reaches the process.
    receiver.answer = () => undefined
    const session = await asking('Killed between')
    await hurry()
    await until('the first', () => arrivedOf(session).length === 1, patienceMs)
    await service.kill()
    receiver.answer = response => response.writeHead(201).end()
    service = await startServiceProcess(variables)
    await settled(session)
    const [first, ...more] = arrivedOf(session)
    expect(first).toEqual({ topic: session.id.replaceAll('-', ''), sessionId: session.id, title: 'Killed between' })
    // A slow answer has the next process send it once more.
    expect(more.length).toBeGreaterThan(0)
    for (const each of more) expect(each).toEqual(first)
  })

  it('after it was told is told no more', async () => {
    receiver.answer = response => response.writeHead(201).end()
    const session = await asking('Killed after')
    await hurry()
    await settled(session)
    await restart()
    // The next process looks at every Session that has changed, so at both.
    const later = await asking('Later')
    await hurry()
    await settled(later)
    expect([arrivedOf(session).length, arrivedOf(later).length]).toEqual([1, 1])
    expect(await noticesOf(session)).toHaveLength(1)
  })
})
