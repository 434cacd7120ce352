import { randomUUID } from 'node:crypto'
import type { Interaction, Session, TurnAdmission } from '@berth/contract'
import { nativeStandIn } from '@berth/testing/agents/scripted-runtimes.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { activitiesOf, type EndedRun, messagesOf, outcomeOf, startsOf } from '@berth/testing/runs/ended-run.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import { until } from '@berth/testing/until.ts'
import { Gate, Resuming, type WorkerOptions } from '@berth/testing/workspaces/resuming.ts'
import { Sweeper } from '@berth/worker/host/sweeper.ts'
import { Worker } from '@berth/worker/worker.ts'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'

/** The API without a worker; each test starts its own workers. */
let resuming: Resuming
let stack: AsyncDisposableStack
beforeAll(async () => {
  resuming = await Resuming.open()
})
afterAll(() => resuming[Symbol.asyncDispose]())
beforeEach(() => {
  stack = new AsyncDisposableStack()
})
afterEach(() => stack.disposeAsync())

/** Starts a worker that parks at once, with an agent in the native one's place whose conversation is sealed. */
async function work({ limits, ...options }: WorkerOptions = {}, runs = stack) {
  const native = runs.use(await nativeStandIn())
  // bound: Runs are to be parked at once
  const more = { ...options, runtimes: [native.entry], limits: { parkMs: 1, pulseMs: 250, ...limits } }
  const context = { ...(await workerContext(resuming.test, runs, more)), defaultModel: 'any' }
  for (const service of [new Worker(context), new Sweeper(context)]) await runs.use(service).start()
  return context
}

const ask = (name: string) =>
  `ask ${JSON.stringify({ message: 'Which?', requestedSchema: { properties: { [name]: { type: 'string' } } } })}`

const isParked = ({ phase, workspace }: Session) => phase === 'awaiting' && workspace.state === 'expired'
const parked = (session: Session) =>
  until('a parked run', async () => {
    const now = await resuming.api.session(session.id)
    return isParked(now) && now
  })

const open = async (session: Session) =>
  (await resuming.api.get<{ interactions: Interaction[] }>(`/v1/sessions/${session.id}/interactions`)).body.interactions
const openQuestion = (session: Session) => until('a question', async () => (await open(session))[0])
const reply = (session: Session, { id }: Interaction, message: string) =>
  resuming.api.put<TurnAdmission>(`/v1/sessions/${session.id}/turns/${randomUUID()}`, {
    message,
    replyTo: { interactionId: id },
  })
/** A Run does not park while a decision is open. */
const decideAll = (session: Session) =>
  until('a decision', async () => {
    const [approval] = (await open(session)).filter(({ kind }) => kind === 'approval')
    if (approval === undefined) return false
    const { status } = await resuming.api.put(`/v1/sessions/${session.id}/interactions/${approval.id}/decision`, {
      requestId: approval.request.approval?.requestId,
      choice: 'allow_once',
      idempotencyKey: randomUUID(),
    })
    return status === 200
  })
const cancel = (session: Session) =>
  resuming.api.call('POST', `/v1/sessions/${session.id}/runs/${session.activeRunId}/cancel`)

const leases = async (session: Session) => {
  const { rows } = await resuming.test.db.database.query<{ id: string }>(
    'select id from leases where session_id = $1 order by created_at',
    [session.id],
  )
  return rows.map(({ id }) => id)
}

const texts = (ended: Parameters<typeof messagesOf>[0]) =>
  messagesOf(ended).flatMap(({ role, text }) => (role === 'assistant' ? [text] : []))

it('a waiting native agent gives its sandbox back, and continues in another with the answer, as the same run', async () => {
  const context = await work()
  const session = await resuming.api.createSession({}, `remember before\npresent draft\nsay asking\n${ask('a')}`)
  const now = await parked(session)
  expect(now.activeRunId).toBe(session.activeRunId)
  const [first = ''] = await leases(session)
  await until('no sandbox', async () => !(await context.driver.list()).includes(first))
  const answer = await reply(session, await openQuestion(session), 'mine')
  expect([answer.status, answer.body.run]).toMatchObject([202, { id: session.activeRunId, status: 'running' }])
  const ended = await resuming.settled(session)
  expect(outcomeOf(ended)).toBe('completed completed - 1')
  expect(startsOf(ended)).toHaveLength(1)
  expect(texts(ended)).toEqual(['asking', 'You asked:', 'a: Which?', 'The answer is: mine'])
  const kept = ended.events.flatMap(({ type, data }) =>
    type === 'svc.artifact.created' ? [data['artifactId'], data['name']] : [],
  )
  expect(kept).toEqual([expect.any(String), 'draft', expect.any(String), 'summary.md'])
  expect(ended.run.result?.artifactIds).toEqual([kept[0], kept[2]])
  expect(messagesOf(await resuming.next(session, 'recall'))).toMatchObject([{ text: 'loaded: before' }])
})

it('a run of a session with an environment continues in a sandbox that is set up again', async () => {
  await work()
  const { id } = await new Environments(resuming.api).make({ setup: 'echo "set up $BERTH_RESTORED"' })
  const session = await resuming.api.createSession({ environment: { id } }, ask('a'))
  await parked(session)
  await reply(session, await openQuestion(session), 'mine')
  const ended = await resuming.settled(session)
  expect([outcomeOf(ended), startsOf(ended).length]).toEqual(['completed completed - 1', 1])
  const applies = ended.events.filter(({ type }) => type === 'svc.environment.apply').map(({ data }) => data)
  expect(applies.map(({ status, outputTail }) => [status, outputTail])).toEqual([
    ['started', undefined],
    ['succeeded', 'set up \n'],
    ['started', undefined],
    ['succeeded', 'set up true\n'],
  ])
  expect(new Set(applies.map(({ leaseId }) => leaseId)).size).toBe(2)
})

it('a call that asked people ends once they have answered, although its process has not', async () => {
  await work()
  const calls = (ended: EndedRun) =>
    activitiesOf(ended).flatMap(({ title, status }) => (/^edit/.test(String(title)) ? [] : [[title, status]]))
  const script = `leave other\n${ask('a').replace('ask', 'asking')}`
  const open = await resuming.api.createSession({}, script)
  await decideAll(open)
  await parked(open)
  await reply(open, await openQuestion(open), 'mine')
  expect(calls(await resuming.settled(open))).toEqual([
    ['other', 'failed'],
    ['asking', 'succeeded'],
  ])
  const given = await resuming.api.createSession({}, script)
  await decideAll(given)
  await parked(given)
  await cancel(given)
  expect(calls(await resuming.settled(given))).toEqual([
    ['other', 'failed'],
    ['asking', 'failed'],
  ])
})

it('an agent may wait again in each sandbox that it gets', async () => {
  await work()
  const session = await resuming.api.createSession({}, ask('a'))
  await parked(session)
  await reply(session, await openQuestion(session), `one\n${ask('b')}`)
  await until('another question', async () => (await open(session))[0])
  await parked(session)
  await reply(session, await openQuestion(session), 'two')
  const ended = await resuming.settled(session)
  expect([outcomeOf(ended), startsOf(ended).length]).toEqual(['completed completed - 1', 1])
  expect(texts(ended).filter(text => String(text).startsWith('The answer'))).toEqual([
    'The answer is: one',
    'The answer is: two',
  ])
  expect(await leases(session)).toHaveLength(3)
})

it('an agent parks when its sandbox expires, however short it has waited', async () => {
  await using short = new AsyncDisposableStack()
  await work({ limits: { parkMs: 600_000, leaseMaxMs: 8000, leaseIdleMs: 8000 } }, short)
  const session = await resuming.api.createSession({}, ask('a'))
  await parked(session)
  await short.disposeAsync()
  await work()
  await reply(session, await openQuestion(session), 'late')
  expect(outcomeOf(await resuming.settled(session))).toBe('completed completed - 1')
})

it('an answer that comes during the seal goes to the agent that asked', async () => {
  const gate = new Gate()
  await work({
    blobs: real => ({
      ...real,
      put: async content => {
        await gate.pass()
        return real.put(content)
      },
      get: sha256 => real.get(sha256),
      has: (sha256, sizeBytes) => real.has(sha256, sizeBytes),
      stat: sha256 => real.stat(sha256),
      delete: sha256 => real.delete(sha256),
    }),
  })
  gate.shut()
  const session = await resuming.api.createSession({}, `say asking\n${ask('a')}`)
  const question = await openQuestion(session)
  await until('a seal', () => gate.waiting > 0)
  expect((await reply(session, question, 'mine')).status).toBe(202)
  gate.open()
  const ended = await resuming.settled(session)
  expect(outcomeOf(ended)).toBe('completed completed - 1')
  expect(JSON.parse(String(texts(ended)[1]))).toMatchObject({ content: { a: 'mine' } })
  expect(await leases(session)).toHaveLength(1)
})

it.each([
  ['cancelled', cancel, 'run_cancelled', [0]],
  [
    'cancelled once it is answered, before anybody goes on with it',
    async (session: Session) => {
      await reply(session, await openQuestion(session), 'mine')
      await cancel(session)
      await work()
    },
    null,
    [0],
  ],
  [
    'archived',
    (session: Session) => resuming.api.call('DELETE', `/v1/sessions/${session.id}`),
    'session_archived',
    [0],
  ],
])('a parked run can be %s, and keeps its work without a sandbox', async (_, end, resolution, kept) => {
  const runs = new AsyncDisposableStack()
  await work({}, runs)
  const session = await resuming.api.createSession({}, `remember this\n${ask('a')}`)
  await parked(session)
  await runs.disposeAsync()
  await end(session)
  const ended = await resuming.ended(session)
  expect(outcomeOf(ended)).toBe('cancelled aborted - 1')
  const closed = ended.events.filter(({ type }) => type === 'svc.interaction.expired')
  expect(closed.map(({ data }) => data['resolution'])).toEqual(resolution === null ? [] : [resolution])
  expect(await resuming.checkpoints(session)).toEqual(kept.map(() => session.activeRunId))
  expect(await leases(session)).toHaveLength(1)
})

it('files that a run presented before it waited are kept, even if it is cancelled', async () => {
  await work({ limits: { parkMs: 600_000 } })
  const session = await resuming.api.createSession({}, `present draft\n${ask('a')}`)
  await openQuestion(session)
  await cancel(session)
  const ended = await resuming.settled(session)
  expect(outcomeOf(ended)).toBe('cancelled aborted - 1')
  expect(ended.run.result?.artifactIds).toHaveLength(1)
  const types = ended.events.map(({ type }) => type)
  expect(types.indexOf('svc.artifact.created')).toBeLessThan(types.indexOf('svc.interaction.opened'))
  expect((await resuming.next(session, 'present other')).run.result?.artifactIds).toHaveLength(1)
})
