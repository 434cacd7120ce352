import { randomUUID } from 'node:crypto'
import type { Session, TurnPage } from '@berth/contract'
import { readNamedBlobs } from '@berth/core/housekeeping/named-blobs.ts'
import { purgeSessions } from '@berth/core/sessions/purge/purge-sessions.ts'
import { lockSession } from '@berth/core/sessions/session/session-sql.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createInstallation } from '@berth/testing/api/tenant.ts'
import { activitiesOf, messagesOf } from '@berth/testing/runs/ended-run.ts'
import { outcome, refusedFields } from '@berth/testing/runs/outcome.ts'
import { keyOf } from '@berth/testing/runs/states.ts'
import { until } from '@berth/testing/until.ts'
import { Resuming } from '@berth/testing/workspaces/resuming.ts'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'

/** The API without a worker; each test starts its own. */
let bench: Resuming
let stack: AsyncDisposableStack
beforeAll(async () => {
  bench = await Resuming.open()
})
afterAll(() => bench[Symbol.asyncDispose]())
beforeEach(() => {
  stack = new AsyncDisposableStack()
})
afterEach(() => stack.disposeAsync())

type Envelope = { session: Session }
const fork = (session: Session, body: object = {}) =>
  bench.api.call<Envelope>('POST', `/v1/sessions/${session.id}/forks`, body)
const forked = async (session: Session, body: object = {}) => {
  const answer = await fork(session, body)
  expect(answer.status).toBe(201)
  return answer.body.session
}
const turnsOf = async (session: Session) =>
  (await bench.api.get<TurnPage>(`/v1/sessions/${session.id}/turns`)).body.turns
const outputs = (run: Parameters<typeof activitiesOf>[0]) => activitiesOf(run).map(({ output }) => output)

it('a fork goes on where a run ended, with files, turns and a log of its own, and neither shows in the other', async () => {
  await bench.work(stack)
  const { session, run: first } = await bench.sealed('shell', 'echo one > file')
  await bench.next(session, 'echo two > file')
  const atFirst = await forked(session, { runId: first.id, title: 'The other way' })
  expect(atFirst).toMatchObject({
    title: 'The other way',
    runtime: 'shell',
    phase: 'idle',
    parent: { sessionId: session.id, runId: first.id },
    continuation: { canContinue: true, state: 'restorable', workspace: { fidelity: 'portable_tree' } },
    workspace: { state: 'unavailable' },
    createdBy: session.createdBy,
  })
  const [turn] = await turnsOf(atFirst)
  expect(await turnsOf(atFirst)).toHaveLength(1)
  expect(turn).toMatchObject({ sequence: 0, message: 'echo one > file', runId: atFirst.continuation.sealedByRunId })
  expect(turn?.runId).not.toBe(first.id)
  expect(await bench.api.run(atFirst.id, turn?.runId ?? '')).toMatchObject({ status: 'completed', turnId: turn?.id })
  const log = await bench.api.events(session.id)
  expect(await bench.api.events(atFirst.id)).toMatchObject([
    {
      sequence: 1,
      type: 'svc.session.forked',
      data: {
        sourceSessionId: session.id,
        sourceRunId: first.id,
        sourceSequence: log.find(({ type }) => type === 'svc.run.completed')?.sequence,
      },
    },
  ])
  expect(outputs(await bench.next(atFirst, 'cat file; echo forked > file'))).toContain('one\n')
  const newest = await forked(session)
  expect(newest.title).toBe(`Fork of ${session.title}`)
  expect(outputs(await bench.next(newest, 'cat file'))).toContain('two\n')
  expect(outputs(await bench.next(session, 'cat file'))).toContain('two\n')
  expect((await bench.api.session(session.id)).parent).toBeNull()
  // A fork of a fork builds on what the fork did.
  expect(outputs(await bench.next(await forked(atFirst), 'cat file'))).toContain('forked\n')
})

it('as many sealed runs can be forked as the operator keeps, and no more', async () => {
  await bench.work(stack, { limits: { sealsKept: 3 } })
  const { session, run: first } = await bench.sealed('shell', 'echo 1 > file')
  const second = await bench.next(session, 'echo 2 > file')
  await bench.next(session, 'echo 3 > file')
  expect(outputs(await bench.next(await forked(session, { runId: first.id }), 'cat file'))).toContain('1\n')
  await bench.next(session, 'echo 4 > file')
  expect(outcome(await fork(session, { runId: first.id }))).toBe('409 cloud_fork_unavailable')
  expect(outputs(await bench.next(await forked(session, { runId: second.run.id }), 'cat file'))).toContain('2\n')
})

it('an agent that loads conversations goes on with its own, and one that cannot is told what was said', async () => {
  await bench.work(stack)
  for (const [runtime, fidelity, message] of [
    ['remembering', 'exact', /^loaded: harbour$/],
    ['scripted', 'result_only', /Earlier in this conversation.*user: say one.*assistant: one.*two/s],
  ] as const) {
    const { session } = await bench.sealed(runtime, 'say one\nremember harbour')
    const copy = await forked(session)
    expect(copy.continuation.conversation.fidelity).toBe(fidelity)
    const next = await bench.next(copy, fidelity === 'exact' ? 'recall' : 'say two')
    const messages = messagesOf(next).map(({ text }) => text)
    expect(messages.join('\n')).toMatch(message)
    // A fork of the fork at the Run that both have in common knows nothing of what came after it.
    const [common] = await turnsOf(copy)
    const again = await forked(copy, { runId: common?.runId })
    const third = await bench.next(again, fidelity === 'exact' ? 'recall' : 'say three')
    const recap = messagesOf(third)
      .map(({ text }) => text)
      .join('\n')
    expect(recap).toMatch(fidelity === 'exact' ? message : /user: say one.*assistant: one.*three/s)
    expect(recap).not.toContain('two')
  }
})

it('a fork keeps its blobs when the other session is purged', async () => {
  await bench.work(stack)
  const { session } = await bench.sealed('shell', 'head -c 300000 /dev/urandom | sha256sum > file; cat file')
  const [before] = outputs(await bench.next(session, 'cat file'))
  const copy = await forked(session)
  const { database: db } = bench.test.db
  await bench.api.call('DELETE', `/v1/sessions/${session.id}`)
  expect(outcome(await fork(session))).toBe('404 cloud_session_not_found')
  await until('the end of the sandbox', async () => {
    const { rows } = await db.query('select 1 from leases where session_id = $1 and ended_at is null', [session.id])
    return rows.length === 0
  })
  await db.query("update sessions set archived_at = archived_at - interval '31 days' where id = $1", [session.id])
  const clock = { now: () => new Date() }
  expect(await purgeSessions({ db, clock }, new Date(Date.now() - 30 * 86_400_000), AbortSignal.timeout(60_000))).toBe(
    1,
  )
  const text = 'select unnest(blobs) as sha256 from checkpoints where session_id = $1'
  const { rows } = await db.query<{ sha256: string }>(text, [copy.id])
  const named = new Set(await Array.fromAsync(readNamedBlobs(db)))
  expect(rows.length).toBeGreaterThan(0)
  expect(rows.every(({ sha256 }) => named.has(sha256))).toBe(true)
  expect(outputs(await bench.next(copy, 'cat file'))).toContain(before)
})

it('a fork that waits for the lock of a session finds it archived behind it', async () => {
  await bench.work(stack)
  const { session } = await bench.sealed('shell', 'true')
  const id = randomUUID()
  // A promise in an object: the transaction does not wait for it.
  const late = await bench.test.db.database.transaction(async tx => {
    await lockSession(tx, keyOf(session))
    const answer = fork(session, { id })
    await tx.query({ text: 'update sessions set archived_at = now() where id = $1', values: [session.id] })
    return { answer }
  })
  expect(outcome(await late.answer)).toBe('404 cloud_session_not_found')
  expect(outcome(await bench.api.get(`/v1/sessions/${id}`))).toBe('404 cloud_session_not_found')
})

it('the same id makes one fork, however often it is asked for, and no other session', async () => {
  await bench.work(stack)
  const { session, run } = await bench.sealed('shell', 'true')
  const id = randomUUID()
  const answers = await Promise.all(Array.from({ length: 4 }, () => fork(session, { id })))
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 201])
  expect(new Set(answers.map(({ body }) => body.session.id))).toEqual(new Set([id]))
  expect(answers[0]?.headers.get('location')).toBe(`/v1/sessions/${id}`)
  expect(await turnsOf({ ...session, id })).toHaveLength(1)
  expect((await fork(session, { id: id.toUpperCase() })).status).toBe(200)
  expect(outcome(await fork(session, { id, runId: run.id }))).toBe('409 cloud_session_conflict')
  expect(outcome(await fork(session, { id: session.id }))).toBe('409 cloud_session_conflict')
  await bench.api.call('DELETE', `/v1/sessions/${session.id}`)
  expect((await fork(session, { id })).status).toBe(200)
})

it('only a sealed run of a session that the caller sees can be forked', async () => {
  const idle = await bench.api.createSession({ runtime: 'shell' })
  expect(outcome(await fork(idle))).toBe('409 cloud_fork_unavailable')
  expect(outcome(await fork(idle, { runId: randomUUID() }))).toBe('404 cloud_session_not_found')
  expect(refusedFields(await fork(idle, { runId: 'x' }))).toBe('400 invalid_request runId')
  await bench.work(stack)
  const { session, run } = await bench.sealed('shell', 'true')
  for (const message of ['echo 2', 'echo 3']) await bench.next(session, message)
  // Two checkpoints are kept.
  expect(outcome(await fork(session, { runId: run.id }))).toBe('409 cloud_fork_unavailable')
  const { run: active } = await bench.api.submitTurn(session.id, 'sleep 600')
  expect(outcome(await fork(session, { runId: active.id }))).toBe('409 cloud_run_in_progress')
  const copy = await forked(session)
  expect((await turnsOf(copy)).map(({ message }) => message)).toEqual(['true', 'echo 2', 'echo 3'])
  const alone = await bench.api.createSession({ runtime: 'shell' }, 'sleep 600')
  expect(outcome(await fork(alone))).toBe('409 cloud_run_in_progress')
  const { api: other } = await bench.test.newTenant()
  const path = `/v1/sessions/${session.id}/forks`
  expect(outcome(await other.call('POST', path, {}))).toBe('404 cloud_session_not_found')
  const { tenant, db } = bench.test
  const { apiKey } = await createInstallation(db.database, tenant.organizationId, tenant.appSlug)
  const neighbour = new Api(bench.test.url, apiKey)
  expect(outcome(await neighbour.call('POST', path, {}))).toBe('404 cloud_session_not_found')
})
