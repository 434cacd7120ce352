import { randomUUID } from 'node:crypto'
import type { Session } from '@berth/contract'
import { rememberSecrets } from '@berth/core/sessions/log/session-redactor.ts'
import { MasterKey } from '@berth/platform/storage/master-key.ts'
import { openDatabase } from '@berth/platform/storage/postgres/pool.ts'
import { scriptedRuntimes } from '@berth/testing/agents/scripted-runtimes.ts'
import { endedRun } from '@berth/testing/runs/ended-run.ts'
import { keyOf } from '@berth/testing/runs/states.ts'
import { silentLog } from '@berth/testing/services/log.ts'
import { startTestService, type TestService, variablesAlongside } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { touch } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
const secret = `hidden:${randomUUID()}`
let test: TestService
beforeAll(async () => {
  const scripted = stack.use(await scriptedRuntimes())
  const runtimes = scripted.runtimes.map(runtime => ({ ...runtime, env: { GIVEN: { env: 'GIVEN' } } }))
  const variables = { GIVEN: secret }
  test = stack.use(await startTestService({ config: { runtimes }, variables, fixed: { runEvents: 40 } }))
})
afterAll(() => stack.disposeAsync())

const todo = (...entries: readonly (readonly [string, string])[]) => `todo ${JSON.stringify(entries)}`
const step = (content: string, status: string) => ({ content, status, priority: 'medium' })
const plansOf = async ({ id }: Session) =>
  (await test.api.events(id)).filter(({ type }) => type === 'svc.plan.updated').map(({ data }) => data)
const planOf = async ({ id }: Session) => (await test.api.session(id)).plan

async function run(session: Session, message: string) {
  await until('an idle session', async () => (await test.api.session(session.id)).phase === 'idle')
  const { run } = await test.api.submitTurn(session.id, message)
  return endedRun(test.api, session, run.id)
}

it("an agent's plan is an Event each time, and the session has the last, without secrets", async () => {
  const session = await test.api.createSession(
    { runtime: 'scripted' },
    [todo(['Look', 'in_progress']), 'tools 1', todo(['Look', 'completed'], [`Use ${secret}`, 'pending'])].join('\n'),
  )
  expect(session.plan).toBeNull()
  const first = await endedRun(test.api, session, session.activeRunId ?? '')
  const last = { entries: [step('Look', 'completed'), step('Use [secret]', 'pending')] }
  expect(await plansOf(session)).toEqual([{ entries: [step('Look', 'in_progress')] }, last])
  expect(await planOf(session)).toEqual(last)
  const { rows } = await test.db.database.query<{ plan: unknown }>('select plan from sessions where id = $1', [
    session.id,
  ])
  expect(rows).toEqual([{ plan: last }])

  // A Run that tells of none leaves it, and a fork has the one that its Run left.
  await run(session, 'say Nothing new.')
  expect(await planOf(session)).toEqual(last)
  await run(session, todo(['Another', 'pending']))
  const { body } = await test.api.call<{ session: Session }>('POST', `/v1/sessions/${session.id}/forks`, {
    runId: first.run.id,
  })
  expect(body.session.plan).toEqual(last)
  expect(await planOf(session)).toEqual({ entries: [step('Another', 'pending')] })
  await run(session, `${todo(['x', 'pending'])}\ntell conversation_cleared`)
  expect(await planOf(session)).toBeNull()
  await run(session, todo(['Again', 'pending']))
  await run(session, todo())
  expect(await planOf(session)).toBeNull()
})

it('the state of an agent is in its session, and in no list', async () => {
  const session = await test.api.createSession({ runtime: 'scripted' }, `${todo(['Look', 'pending'])}\nhang`)
  await until('a plan', async () => (await planOf(session)) !== null)
  const commands = [{ id: 'b1', command: 'serve', status: 'running', startedAt: '2026-01-01T00:00:00.000Z' }]
  await test.db.database.query(
    `update sessions s set background = jsonb_build_object('leaseId', l.id, 'commands', $2::jsonb, 'truncated', true)
    from leases l where s.id = $1 and l.session_id = s.id`,
    [session.id, JSON.stringify(commands)],
  )
  const state = { plan: { entries: [step('Look', 'pending')] }, background: commands, backgroundTruncated: true }
  expect(await test.api.session(session.id)).toMatchObject(state)
  const { body } = await test.api.call<{ sessions: Session[] }>('GET', '/v1/sessions')
  const listed = body.sessions.find(({ id }) => id === session.id) ?? {}
  expect(Object.keys(state).filter(member => member in listed)).toEqual([])
  expect(listed).toHaveProperty('phase')
})

it('a fork has the plan of its run, and its log tells it', async () => {
  const session = await test.api.createSession({ runtime: 'scripted' }, todo(['Look', 'pending']))
  const first = await endedRun(test.api, session, session.activeRunId ?? '')
  await run(session, 'tell conversation_cleared')
  await until('an idle session', async () => (await test.api.session(session.id)).phase === 'idle')
  expect(await planOf(session)).toBeNull()
  const fork = async (of: Session, runId?: string) =>
    (await test.api.call<{ session: Session }>('POST', `/v1/sessions/${of.id}/forks`, { runId })).body.session
  const plan = { entries: [step('Look', 'pending')] }
  const copy = await fork(session, first.run.id)
  // Its Run is a copy, of which its log does not tell.
  for (const made of [copy, await fork(copy)]) {
    expect(made.plan).toEqual(plan)
    expect(await plansOf(made)).toEqual([plan])
  }
  expect((await fork(session)).plan).toBeNull()
})

it('a secret that the session got while its agent worked is in neither the log nor the state', async () => {
  const late = `hidden:${randomUUID()}`
  const script = `wait /workspace/go\n${todo([`Use ${late}`, 'pending'])}`
  const session = await test.api.createSession({ runtime: 'scripted' }, script)
  await until('a working agent', async () => (await test.api.session(session.id)).phase === 'running')
  await using database = openDatabase({ connection: test.db.connection, log: silentLog })
  database.masterKey = new MasterKey(Buffer.from(variablesAlongside(test).BERTH_MASTER_KEY, 'base64'))
  await database.transaction(tx => rememberSecrets(tx, keyOf(session), 'environment', [late], new Date()))
  await touch(test.db.database, test.dataDir, session, 'go')
  await endedRun(test.api, session, session.activeRunId ?? '')
  expect(await plansOf(session)).toEqual([{ entries: [step('Use [secret]', 'pending')] }])
  const { rows } = await test.db.database.query('select plan from sessions where id = $1', [session.id])
  expect(rows).toMatchObject([{ plan: { entries: [{ content: 'Use [secret]' }] } }])
})

it('a plan that the log leaves out is not the plan of the session', async () => {
  const script = [todo(['Look', 'pending']), 'tools 30', todo(['Look', 'completed']), 'hang']
  const session = await test.api.createSession({ runtime: 'scripted' }, script.join('\n'))
  const { run } = await endedRun(test.api, session, session.activeRunId ?? '')
  expect(run.errorCode).toBe('event_budget')
  expect(await planOf(session)).toEqual({ entries: [step('Look', 'pending')] })
})
