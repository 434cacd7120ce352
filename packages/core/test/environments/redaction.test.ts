import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Event } from '@berth/contract'
import { Environments } from '@berth/testing/environments/environments.ts'
import { destroySandboxes } from '@berth/testing/faults/destroy-sandboxes.ts'
import { shortFence, startTestService, type TestService, variablesAlongside } from '@berth/testing/services/service.ts'
import { type ServiceProcess, startServiceProcess } from '@berth/testing/services/service-process.ts'
import { until } from '@berth/testing/until.ts'
import { workspacePath } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'

const token = `canary-${randomBytes(16).toString('hex')}`
const line = randomBytes(32).toString('hex')
const key = `-----BEGIN KEY-----\n"${line}"\n-----END KEY-----\n`
const short = 'seven77'

const stack = new AsyncDisposableStack()
let service: TestService
let environments: Environments
let dataDir: string
const workers: ServiceProcess[] = []
beforeAll(async () => {
  service = stack.use(await startTestService({ variables: { BERTH_ROLES: 'api' } }))
  environments = new Environments(service.api)
  dataDir = await mkdtemp(join(tmpdir(), 'berth-worker-'))
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  stack.defer(() => destroySandboxes(dataDir))
  await startWorker()
})
afterAll(() => stack.disposeAsync())

async function startWorker(): Promise<void> {
  const roles = { BERTH_ROLES: 'worker', BERTH_DATA_DIR: dataDir, ...shortFence }
  workers.push(stack.use(await startServiceProcess({ ...variablesAlongside(service), ...roles })))
}

const applied = (events: readonly Event[]) =>
  events.findLast(({ type }) => type === 'svc.environment.apply')?.data['outputTail']
const output = (events: readonly Event[]) =>
  events.findLast(({ type }) => type === 'svc.activity.completed')?.data['output']

/** Prints every value as it is, and as a tool does that answers in JSON. */
const print = `echo "$TOKEN1"; echo "$SHORT1"; printf '%s' "$KEY1"; node -e 'console.log(JSON.stringify(JSON.stringify([process.env])))'; echo "$TOKEN1" > result.txt; berth-present result.txt`
const masked = '[secret]\nseven77\n'

test("no secret of an environment is on record anywhere, whoever appends, and nobody else's words are masked", async () => {
  const made = await environments.make({ setup: `${print} || :; touch ready` })
  let { revision } = made
  for (const [name, value] of Object.entries({ TOKEN1: token, KEY1: key, SHORT1: short })) {
    const { body } = await environments.writeSecret(made.id, name, value, revision)
    revision = body.environment.revision
  }
  const { warnings } = (await environments.read(made.id)).body.environment
  expect(JSON.stringify(warnings)).toContain('SHORT1')
  expect(JSON.stringify(warnings)).not.toContain('TOKEN1')

  const wait = 'while [ ! -f go ]; do sleep 0.05; done'
  const session = await service.api.createSession(
    { runtime: 'shell', environment: { id: made.id } },
    `${print}; ${wait}; ${print}; exit 3`,
  )
  await until('a run that has begun', async () =>
    (await service.api.events(session.id)).some(({ type }) => type === 'svc.run.started'),
  )
  await workers[0]?.kill()
  await startWorker()
  const at = await workspacePath(service.db.database, dataDir, session, 'go')
  await writeFile(at, '')
  const first = await service.api.runEnded(session.id, session.activeRunId ?? '')
  expect(String(applied(first)).slice(0, masked.length)).toBe(masked)
  expect(String(output(first)).split(masked)).toHaveLength(3)

  // The process that answers HTTP never made a sandbox, and appends these words.
  const turn = await service.api.submitTurn(session.id, `: ${token} ${JSON.stringify(key)} ${short}`)
  const second = await service.api.runEnded(session.id, turn.run.id)
  expect(second.findLast(({ type }) => type === 'svc.message.created')?.data['text']).toBe(
    `: [secret] "[secret]" ${short}`,
  )

  const { rows } = await service.db.database.query<{ text: string }>(
    `select envelope as text from events where session_id = $1
     union all select l::text from leases l where session_id = $1
     union all select r::text from runs r where session_id = $1
     union all select a::text from artifacts a where session_id = $1`,
    [session.id],
  )
  const ids = [...first, ...second].flatMap(({ type, data }) =>
    type === 'svc.artifact.created' && data['kind'] === 'run_result' ? [String(data['artifactId'])] : [],
  )
  expect(ids).toHaveLength(2)
  const answers = await Promise.all(
    ['', ...ids.map(id => `/artifacts/${id}/content`)].map(path =>
      service.api.get(`/v1/sessions/${session.id}${path}`),
    ),
  )
  const record = [
    ...rows.map(({ text }) => text),
    ...answers.map(({ text }) => text),
    ...workers.flatMap(({ lines }) => lines),
  ]
  for (const text of record) for (const value of [token, line]) expect(text).not.toContain(value)

  const { api } = await service.newTenant()
  for (const elsewhere of [service.api, api]) {
    const other = await elsewhere.createSession({ runtime: 'shell' }, `echo ${token}; echo ${line}`)
    expect(output(await elsewhere.runEnded(other.id, other.activeRunId ?? ''))).toBe(`${token}\n${line}\n`)
  }
})
