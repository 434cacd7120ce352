import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Event, Session } from '@berth/contract'
import { MasterKey, parseMasterKey } from '@berth/platform/storage/master-key.ts'
import { EdgeStage } from '@berth/sandboxes/testing/edge-clients.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { findValue } from '@berth/testing/leaks/find-value.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import { until } from '@berth/testing/until.ts'
import { leaseOf, touch, workspacePath } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { Worker } from '../../src/worker.ts'

const host = 'api.example.com'
/** Of no form that the log masks by itself. */
const value = 'TheRealValueThatNoSandboxEverHas0000xyzu'
let service: TestService
let environments: Environments
let stage: EdgeStage
/** The credentials that the host was sent. */
let seen: (string | undefined)[]
let stack: AsyncDisposableStack

beforeAll(async () => {
  service = await startTestService({ variables: { BERTH_ROLES: 'api' } })
  environments = new Environments(service.api)
  const key = parseMasterKey(readFileSync(join(service.dataDir, 'master.key'), 'utf8').trim())
  // Workers of the test open what the service has sealed.
  if (key !== undefined) Object.assign(service.db.database, { masterKey: new MasterKey(key) })
  stage = await EdgeStage.open()
  await stage.host(host, (incoming, response) => {
    seen.push(incoming.headers.authorization)
    response.end('in\n')
  })
})
afterAll(async () => {
  await stage[Symbol.asyncDispose]()
  await service[Symbol.asyncDispose]()
})
beforeEach(() => {
  stack = new AsyncDisposableStack()
  seen = []
})
afterEach(() => stack.disposeAsync())

async function startWorker(): Promise<Worker> {
  const network = await stage.network()
  const context = await workerContext(service, stack, { network, publicHosts: { ports: [80, 443], refused: [] } })
  const worker = stack.use(new Worker(context))
  await worker.start()
  return worker
}

/** Makes an environment with the secret `TOKEN` for the host. */
async function environment(document: object = {}, setup = false): Promise<string> {
  const { id } = await environments.make(document)
  const egress = { hosts: [host], put: { header: 'Authorization' }, setup }
  const body = { value, exposure: 'egress', egress }
  const written = await service.api.call('PUT', `/v1/environments/${id}/secrets/TOKEN`, body, { 'if-match': '"1"' })
  if (written.status !== 200) throw new Error(`the secret answered ${written.status} ${written.text}`)
  return id
}

const textOf = (events: readonly Event[], type: string) =>
  events
    .filter(event => event.type === type)
    .map(({ data }) => String((data as { output?: string; text?: string }).output ?? (data as { text?: string }).text))
    .join('')

async function ended(session: Session, runId = session.activeRunId ?? ''): Promise<readonly Event[]> {
  const events = await service.api.runEnded(session.id, runId)
  await until('a sealed run', async () => (await service.api.session(session.id)).phase === 'idle')
  return events.filter(({ subject }) => subject.runId === runId)
}

const start = (id: string, script: string) =>
  service.api.createSession({ runtime: 'shell', environment: { id } }, script)
const ask = `curl -sS -m 20 -H "Authorization: Bearer $TOKEN" https://${host}/`

test('an agent uses a secret that it never has, and nothing in and around its sandbox holds it', async () => {
  await startWorker()
  const id = await environment({ setup: 'echo "setup has [$TOKEN]"; echo "export KEPT=1" > /dev/null' })
  // The tool that prints the variable would tell a value; what runs on keeps it in its memory.
  const session = await start(id, `${ask}; echo "$TOKEN" | tee token; setsid sleep 600 >/dev/null 2>&1 &`)
  const events = await ended(session)
  expect(textOf(events, 'svc.environment.output')).toBe('setup has []\n')
  expect(textOf(events, 'svc.activity.completed')).toMatch(/^in\n/)
  expect(seen).toEqual([`Bearer ${value}`])
  const { database: db } = service.db
  const path = await workspacePath(db, service.dataDir, session, 'token')
  const placeholder = (await readFile(path, 'utf8')).trim()
  expect(placeholder).toMatch(/^[A-Za-z0-9]{40}$/)
  const searched = { dataDir: service.dataDir, db, leases: [await leaseOf(db, session)] }
  expect(await findValue(value, searched)).toEqual([])
  // The search finds what is there: the placeholder, in files, rows and processes.
  const found = await findValue(placeholder, searched)
  for (const place of ['/workspace/token', 'table events', 'process ']) expect(found.join('\n')).toContain(place)
})

test('setup uses a secret that says so, by its placeholder', async () => {
  await startWorker()
  const id = await environment({ setup: `${ask}; echo "\${#TOKEN}"` }, true)
  expect(textOf(await ended(await start(id, 'true')), 'svc.environment.output')).toBe(`in\n${value.length}\n`)
  expect(seen).toEqual([`Bearer ${value}`])
})

test('a worker that takes over puts in the same secret for the same placeholder, also after a new value', async () => {
  const first = await startWorker()
  const id = await environment()
  const session = await start(
    id,
    `${ask}; echo "$TOKEN"; touch begun; until [ -e go ]; do sleep 0.1; done; ${ask}; echo "$TOKEN"`,
  )
  await until('the first request', () => seen.length === 1)
  await first[Symbol.asyncDispose]()
  const { body } = await environments.read(id)
  await environments.writeSecret(id, 'TOKEN', 'AnotherValue', body.environment.revision)
  await startWorker()
  await touch(service.db.database, service.dataDir, session, 'go')
  const lines = textOf(await ended(session), 'svc.activity.completed')
    .trim()
    .split('\n')
  expect(lines).toEqual(['in', lines[1], 'in', lines[1]])
  expect(seen).toEqual([`Bearer ${value}`, `Bearer ${value}`])
})

test('a placeholder sent elsewhere is refused, and the log of the Session says so', async () => {
  await startWorker()
  const id = await environment()
  const session = await start(id, `curl -sS -m 20 -H "X-Key: $TOKEN" https://${host}/`)
  const events = await ended(session)
  expect(textOf(events, 'svc.activity.completed')).toContain('secret_not_for_host')
  expect(seen).toEqual([])
  expect(events.filter(({ type }) => type === 'svc.egress.refused').map(({ data }) => data)).toEqual([
    expect.objectContaining({ host, port: 443, reason: 'secret_not_for_host' }),
  ])
})
