import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Event, Session } from '@berth/contract'
import { MasterKey } from '@berth/platform/storage/master-key.ts'
import { openDatabase } from '@berth/platform/storage/postgres/pool.ts'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { storedLog } from '@berth/testing/events/log-writer.ts'
import { destroySandboxes } from '@berth/testing/faults/destroy-sandboxes.ts'
import { keyOf } from '@berth/testing/runs/states.ts'
import { silentLog } from '@berth/testing/services/log.ts'
import { databaseUrl, testVariables } from '@berth/testing/services/service.ts'
import { type ServiceProcess, startServiceProcess } from '@berth/testing/services/service-process.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { appendEvents } from '../../src/sessions/log/append.ts'
import { rememberSecrets } from '../../src/sessions/log/session-redactor.ts'
import { holdSession } from '../../src/sessions/session/session-sql.ts'

const given = `given:${randomBytes(16).toString('hex')}`
const masterKey = randomBytes(32)
const shell = [insidePaths.node, `${insidePaths.bundles}/shell.js`]

const stack = new AsyncDisposableStack()
let db: TestDatabase
let blobs: string
let variables: Record<string, string>
let api: Api
let other: Api
let front: ServiceProcess
beforeAll(async () => {
  db = stack.use(await createTestDatabase())
  blobs = await mkdtemp(join(tmpdir(), 'berth-blobs-'))
  stack.defer(() => rm(blobs, { recursive: true, force: true }))
  // The process that answers HTTP knows the runtime's id but not the secrets of its sandboxes.
  front = await start('api', { runtimes: [{ id: 'with-secret', command: shell }] })
  await start('worker', { runtimes: [{ id: 'with-secret', command: shell, env: { GIVEN: { env: 'GIVEN' } } }] })
  api = new Api(front.url, (await createTenant(db.database)).apiKey)
  other = new Api(front.url, (await createTenant(db.database)).apiKey)
})
afterAll(() => stack.disposeAsync())

async function start(role: 'api' | 'worker', config: object): Promise<ServiceProcess> {
  const dataDir = await mkdtemp(join(tmpdir(), `berth-${role}-`))
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  stack.defer(() => destroySandboxes(dataDir))
  await writeFile(join(dataDir, 'berth.json'), JSON.stringify(config))
  variables = {
    ...testVariables,
    BERTH_ROLES: role,
    BERTH_DATA_DIR: dataDir,
    BERTH_MASTER_KEY: masterKey.toString('base64'),
    BERTH_BLOBS: `file:${blobs}`,
    DATABASE_URL: databaseUrl(db),
    ...(role === 'worker' && { GIVEN: given }),
  }
  return stack.use(await startServiceProcess(variables))
}

const textsOf = (events: readonly Event[]) =>
  events.filter(({ type }) => type === 'svc.message.created').map(({ data }) => String(data['text']))
const output = (events: readonly Event[]) =>
  events.findLast(({ type }) => type === 'svc.activity.completed')?.data['output']

test("every process that appends for a Session masks the secrets of its sandbox, and no other Session's log is masked", async () => {
  const session = await api.createSession({ runtime: 'with-secret' }, 'echo "it is $GIVEN"')
  const first = await api.runEnded(session.id, session.activeRunId ?? '')
  expect(output(first)).toBe('it is [secret]\n')

  // The process that answers HTTP reads them from the rows, which are sealed.
  const half = given.slice(0, -1)
  const next = await api.submitTurn(session.id, `: ${half} ${given}`)
  expect(textsOf(await api.runEnded(session.id, next.run.id)).at(-1)).toBe(`: ${half} [secret]`)
  const long = await api.submitTurn(session.id, `: ${'x'.repeat(65_536 - 20)}${given} ${'y'.repeat(100)}`)
  expect(textsOf(await api.runEnded(session.id, long.run.id)).at(-1)).toBe(
    `: ${'x'.repeat(65_536 - 20)}[secret] ${'y'.repeat(9)}`,
  )
  const written = (await storedLog(db, keyOf(session))).map(({ envelope }) => envelope).join('\n')
  expect(written).not.toContain(given)
  const { rows } = await db.database.query<{ sealed: Buffer; source: string }>(
    'select sealed, source from session_secrets',
  )
  expect(rows).toMatchObject([{ source: 'runtime' }])
  expect(rows[0]?.sealed.toString('latin1')).not.toContain(given.slice(0, 8))

  // A fork masks what the files that it begins with may hold, before it has a sandbox of its own.
  await until('a sealed session', async () => (await api.session(session.id)).phase === 'idle')
  const { body } = await api.call<{ session: Session }>('POST', `/v1/sessions/${session.id}/forks`, {})
  await api.submitTurn(body.session.id, `: ${given}`)
  expect(textsOf(await api.events(body.session.id))).toEqual([': [secret]'])

  for (const [elsewhere, runtime] of [
    [other, 'shell'],
    [api, 'shell'],
  ] as const) {
    const untouched = await elsewhere.createSession({ runtime }, `echo ${given}`)
    const events = await elsewhere.runEnded(untouched.id, untouched.activeRunId ?? '')
    expect([textsOf(events)[0], output(events)]).toEqual([`echo ${given}`, `${given}\n`])
  }
  expect(front.lines.join('\n')).not.toContain(given)
})

test('the secrets of several sandboxes are all masked in the order of appending, even by a process that knew fewer of them', async () => {
  const connection = db.connection
  const key = keyOf(await api.createSession({ runtime: 'with-secret', title: 'idle' }))
  await using one = openDatabase({ connection, log: silentLog })
  await using two = openDatabase({ connection, log: silentLog })
  one.masterKey = new MasterKey(masterKey)
  two.masterKey = new MasterKey(masterKey)
  const now = new Date()
  const draft = (text: string) => [{ type: 'svc.test', data: { text } }]
  const words = 'first-secret second-secret third-secret'
  await one.transaction(tx => appendEvents(tx, key, draft(words), now))
  for (const secrets of [['first-secret'], ['first-secret', 'second-secret']]) {
    await one.transaction(async tx => {
      await holdSession(tx, key)
      await rememberSecrets(tx, key, 'runtime', secrets, now)
      // A later append of the same transaction already masks it.
      await appendEvents(tx, key, draft(words), now)
    })
    await two.transaction(tx =>
      Promise.all([
        appendEvents(tx, key, draft(words), now),
        appendEvents(tx, key, [...draft('a'), ...draft('b')], now),
      ]),
    )
  }
  // The rolled-back append was never published.
  await one
    .transaction(async tx => {
      await rememberSecrets(tx, key, 'environment', ['third-secret'], now)
      await appendEvents(tx, key, draft(words), now)
      throw new Error('no')
    })
    .catch(() => undefined)
  await one.transaction(tx => appendEvents(tx, key, draft(words), now))
  const masked = '[secret] second-secret third-secret'
  const both = '[secret] [secret] third-secret'
  const texts = (await storedLog(db, key)).map(({ envelope }) => JSON.parse(envelope).data.text)
  expect(texts).toEqual([words, masked, masked, 'a', 'b', both, both, 'a', 'b', both])
})

test('a process without the key that sealed the secrets appends nothing and does not start', async () => {
  const key = keyOf(await api.createSession({ runtime: 'with-secret', title: 'idle' }))
  await using sealing = openDatabase({ connection: db.connection, log: silentLog })
  sealing.masterKey = new MasterKey(masterKey)
  await sealing.transaction(tx => rememberSecrets(tx, key, 'runtime', ['sealed-away'], new Date()))
  const draft = [{ type: 'svc.test', data: { text: 'sealed-away' } }]
  await using stranger = openDatabase({ connection: db.connection, log: silentLog })
  stranger.masterKey = new MasterKey(randomBytes(32))
  for (const [database, message] of [
    [db.database, /this process has no master key/],
    [stranger, /sealed under master key/],
  ] as const) {
    await expect(database.transaction(tx => appendEvents(tx, key, draft, new Date()))).rejects.toThrow(message)
  }
  expect(await storedLog(db, key)).toEqual([])
  const { BERTH_MASTER_KEY: _, ...keyless } = variables
  const elsewhere = { ...keyless, BERTH_ROLES: 'api' }
  await expect(startServiceProcess(elsewhere)).rejects.toThrow(/master\.key is missing, and this database uses key/)
})
