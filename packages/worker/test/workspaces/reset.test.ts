import type { Session } from '@berth/contract'
import { activitiesOf, messagesOf, outcomeOf, startsOf } from '@berth/testing/runs/ended-run.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { WorkerStandIn } from '@berth/testing/runs/states.ts'
import { until } from '@berth/testing/until.ts'
import { damages, Resuming } from '@berth/testing/workspaces/resuming.ts'
import { signalSandbox } from '@berth/testing/workspaces/sandbox-processes.ts'
import { leaseOf } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'

/** The API without a worker; each test starts its own workers. */
let bench: Resuming
let standIn: WorkerStandIn
let stack: AsyncDisposableStack
beforeAll(async () => {
  bench = await Resuming.open()
  standIn = new WorkerStandIn(bench.test.db.database)
})
afterAll(() => bench[Symbol.asyncDispose]())
beforeEach(() => {
  stack = new AsyncDisposableStack()
})
afterEach(() => stack.disposeAsync())

const reset = (session: Session) => bench.api.call<{ session: Session }>('POST', `/v1/sessions/${session.id}/reset`)
const cleared = async (session: Session) =>
  (await bench.api.events(session.id)).filter(({ type }) => type === 'svc.conversation.cleared').map(({ data }) => data)
const fresh = {
  canContinue: true,
  state: 'fresh',
  conversation: { fidelity: 'none' },
  workspace: { fidelity: 'none' },
  reason: 'no_prior_work',
}
const outputs = (run: Parameters<typeof activitiesOf>[0]) => activitiesOf(run).map(({ output }) => output)

/** Makes, by statements of the test, a Session whose Runs have begun and left nothing. */
async function emptied(runs = 1): Promise<Session> {
  const session = await bench.api.createSession()
  for (let n = 0; n < runs; n += 1) {
    const { run } = await bench.api.submitTurn(session.id, 'a')
    await standIn.start(session, run.id)
    await standIn.end(session, run.id, { status: 'crashed' })
    if (n < runs - 1) await reset(session)
  }
  return session
}

describe('a session that is reset', () => {
  it('starts afresh if its first run crashed, and its log stays and names the loss', async () => {
    await bench.work(stack)
    const session = await bench.api.createSession({ runtime: 'shell' }, 'echo gone > file; sleep 600')
    await until(
      'a begun run',
      async () => (await bench.api.run(session.id, session.activeRunId ?? '')).status === 'running',
    )
    await until('a tool call', async () => {
      const events = await bench.api.events(session.id)
      return events.some(({ type }) => type === 'svc.run.progress')
    })
    await signalSandbox(bench.test.dataDir, await leaseOf(bench.test.db.database, session), 'SIGKILL')
    const crashed = await bench.ended(session)
    expect(crashed.run.status).toBe('crashed')
    const before = await bench.api.events(session.id)
    const answer = await reset(session)
    expect([answer.status, answer.body.session]).toMatchObject([200, { continuation: fresh, phase: 'idle' }])
    expect((await bench.api.events(session.id)).slice(0, before.length)).toEqual(before)
    expect(await cleared(session)).toEqual([{ reason: 'checkpoint_missing', lostRunIds: [crashed.run.id] }])
    const next = await bench.next(session, 'ls; echo new > file')
    expect([outcomeOf(next), outputs(next)]).toEqual(['completed completed - 1', [expect.not.stringContaining('file')]])
    await bench.expire(session)
    expect(outputs(await bench.next(session, 'cat file'))).toEqual(['new\n'])
  })

  it('builds on nothing that it lost, neither files nor messages', async () => {
    await bench.work(stack)
    const { session, run: first } = await bench.sealed('no-load', 'say old')
    const second = await bench.next(session, 'say older still')
    await bench.expire(session)
    for (const path of await bench.blobFiles(session, second.run.id)) await damages.removed(path)
    const { run: refused } = await bench.api.submitTurn(session.id, 'say no')
    expect(outcomeOf(await bench.settled(session, refused.id))).toBe('failed error resume_unavailable 1')
    expect((await reset(session)).status).toBe(200)
    expect(await cleared(session)).toEqual([{ reason: 'checkpoint_missing', lostRunIds: [first.id, second.run.id] }])
    expect(await bench.checkpoints(session)).toEqual([])
    await bench.next(session, 'say new')
    await bench.expire(session)
    const recap = messagesOf(await bench.next(session, 'what was said?')).map(({ text }) => text)
    expect(recap.join('\n')).toMatch(/user: say new.*assistant: new/s)
    expect(recap.join('\n')).not.toMatch(/old/)
  })

  it('may lose its work again, and only the new loss is named then', async () => {
    const session = await emptied(2)
    expect((await reset(session)).status).toBe(200)
    const { lostRunIds } = (await cleared(session))[1] as { lostRunIds: string[] }
    expect(lostRunIds).toHaveLength(1)
    expect((await bench.api.session(session.id)).continuation).toEqual(fresh)
  })

  it('starts afresh again if its first run is lost, like a new session', async () => {
    await bench.work(stack)
    const session = await emptied()
    await bench.test.db.database.query('update sessions set runtime = $2 where id = $1', [session.id, 'shell'])
    expect((await reset(session)).status).toBe(200)
    const { run } = await bench.api.submitTurn(session.id, 'true')
    const ended = await bench.settled(session, run.id)
    expect([outcomeOf(ended), startsOf(ended).length]).toEqual(['completed completed - 1', 1])
  })
})

describe('a session that needs no reset', () => {
  const refused = '409 cloud_reset_unavailable'
  it.each<[string, string, () => Promise<Session>]>([
    ['is fresh', refused, () => bench.api.createSession()],
    [
      'was reset before',
      refused,
      async () => {
        const session = await emptied()
        await reset(session)
        return session
      },
    ],
    [
      'has its sandbox',
      refused,
      async () => {
        const session = await emptied()
        await standIn.attach(session)
        return session
      },
    ],
    [
      'has a run to come',
      '409 cloud_run_in_progress',
      () => bench.api.createSession({ runtime: 'shell' }, 'waits for a worker'),
    ],
    [
      'is archived',
      '404 cloud_session_not_found',
      async () => {
        const session = await emptied()
        await bench.api.call('DELETE', `/v1/sessions/${session.id}`)
        return session
      },
    ],
  ])('is left unchanged because it %s', async (_, expected, make) => {
    const session = await make()
    const before = await bench.api.session(session.id)
    const log = await bench.api.events(session.id)
    expect(outcome(await reset(session))).toBe(expected)
    expect(await bench.api.session(session.id)).toEqual(before)
    expect(await bench.api.events(session.id)).toEqual(log)
  })

  it('is left unchanged while it is sealed and after, because it can be restored', async () => {
    await bench.work(stack)
    const { session } = await bench.sealed('shell', 'echo kept > file')
    expect(outcome(await reset(session))).toBe(refused)
    await bench.expire(session)
    expect(outcome(await reset(session))).toBe(refused)
    await bench.test.db.database.query(
      "update executions set task = 'seal', expires_at = now() + interval '1 hour' where session_id = $1",
      [session.id],
    )
    expect(outcome(await reset(session))).toBe('409 cloud_session_finalizing')
    await bench.test.db.database.query('update executions set task = null where session_id = $1', [session.id])
    expect(outputs(await bench.next(session, 'cat file'))).toEqual(['kept\n'])
  })
})

it('many resets and turns at once make one reset, and the log tells of one', async () => {
  const session = await emptied()
  const turn = () =>
    bench.api.put(`/v1/sessions/${session.id}/turns/${crypto.randomUUID()}`, { message: 'a' }).then(outcome)
  const calls = [0, 1, 2, 3].flatMap(() => [reset(session).then(outcome), turn()])
  const answers = await Promise.all(calls)
  expect(answers.filter(answer => answer === '200')).toHaveLength(1)
  const expected = /^(200|202|409 cloud_(reset_unavailable|resume_unavailable|run_in_progress))$/
  for (const answer of answers) expect(answer).toMatch(expected)
  expect(await cleared(session)).toHaveLength(1)
})
