import { randomUUID } from 'node:crypto'
import type { Fence, Run, Session } from '@berth/contract'
import { readRunTime } from '@berth/core/sessions/runs/run-time-sql.ts'
import { hearProcess, leaveProcess } from '@berth/platform/processes/process-sql.ts'
import { claimQueued } from '@berth/testing/runs/claim-queued.ts'
import { outcome, refusedFields } from '@berth/testing/runs/outcome.ts'
import { WorkerStandIn } from '@berth/testing/runs/states.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { adoptLapsed } from '@berth/worker/claim/claim-sql.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let test: TestService
let worker: WorkerStandIn
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api' } })
  worker = new WorkerStandIn(test.db.database)
})
afterAll(() => test[Symbol.asyncDispose]())

const path = (session: Session, runId = session.activeRunId) => `/v1/sessions/${session.id}/runs/${runId}`
const cancel = (session: Session, runId?: string) =>
  test.api.call<{ run: Run }>('POST', `${path(session, runId)}/cancel`)
const readRun = async (session: Session, runId?: string) =>
  (await test.api.get<{ run: Run }>(path(session, runId))).body.run
const readFence = async (session: Session) =>
  (await test.api.get<{ fence: Fence | null }>(`/v1/sessions/${session.id}/fence`)).body.fence
const typesOf = async (session: Session) => (await test.api.events(session.id)).map(event => event.type)

/** Claims every queued Run for a worker that does nothing with it. */
async function claimAll(holder: string, claim = claimQueued) {
  const process = { id: holder, host: 'nowhere', roles: ['worker'], release: null, patienceMs: 60_000 }
  await hearProcess(test.db.database, process)
  return claim(test.db.database, { holder, hosts: ['nowhere'], now: new Date() }, 100)
}

describe('reading a run', () => {
  it('returns it in each of its states', async () => {
    const session = await test.api.createSession({}, 'a')
    const queued = await readRun(session)
    expect(queued).toMatchObject({ status: 'queued', attempts: 0 })
    expect(queued).not.toHaveProperty('startedAt')
    await claimAll('w')
    expect(await readRun(session)).toMatchObject({ status: 'dispatching', attempts: 1 })
    await worker.start(session, queued.id)
    const running = await readRun(session)
    expect(running).toMatchObject({ status: 'running', startedAt: expect.any(String) })
    expect(running).not.toHaveProperty('endedAt')
    await worker.end(session, queued.id, {
      status: 'failed',
      stopReason: 'error',
      errorCode: 'shell_exit_nonzero',
      summary: 'it broke',
    })
    expect(await readRun(session)).toEqual({
      ...running,
      status: 'failed',
      stopReason: 'error',
      errorCode: 'shell_exit_nonzero',
      result: { summary: 'it broke', artifactIds: [] },
      endedAt: expect.any(String),
      time: expect.objectContaining({ modelMs: 0, peopleMs: 0, toolsMs: 0, sandboxMs: 0 }),
    })
  })

  it('says which parts of its time went into queue, sandbox and start, which overlap with nothing', async () => {
    const { database: db } = test.db
    const session = await test.api.createSession({}, 'a')
    const { organizationId, id: sessionId, activeRunId: runId = '' } = session
    await claimAll('w')
    await worker.attach(session)
    await worker.start(session, runId)
    const end = Date.now()
    const ago = (seconds: number) => new Date(end - seconds * 1000)
    await db.query('update runs set queued_at = $2, started_at = $3 where id = $1', [runId, ago(20), ago(6)])
    await db.query('update executions set acquired_at = $2 where run_id = $1', [runId, ago(17)])
    const lease = 'update leases set created_at = $2, attached_at = $3 where session_id = $1'
    await db.query(lease, [sessionId, ago(16), ago(8)])
    const time = await readRunTime(db, { organizationId, sessionId }, runId, new Date(end))
    const parts = { platformMs: 20_000, queueMs: 3_000, sandboxMs: 8_000, agentStartMs: 3_000 }
    expect(time).toEqual({ modelMs: 0, peopleMs: 0, toolsMs: 0, ...parts })
    await worker.end(session, runId)
  })

  it('answers 404 for a run of another session', async () => {
    const [one, other] = [await test.api.createSession({}, 'a'), await test.api.createSession({}, 'b')]
    for (const runId of [other.activeRunId, randomUUID()]) {
      expect(outcome(await test.api.get(path(one, runId)))).toBe('404 cloud_session_not_found')
    }
  })
})

describe('cancelling a run', () => {
  it('ends a queued run at once, and the log never says that it began', async () => {
    const session = await test.api.createSession({}, 'a')
    const { status, body } = await cancel(session)
    expect([status, body.run]).toMatchObject([
      200,
      { status: 'cancelled', cancellationRequested: true, stopReason: 'aborted', attempts: 0 },
    ])
    expect(await typesOf(session)).toEqual(['svc.message.created', 'svc.run.cancelled'])
    expect(await test.api.session(session.id)).not.toHaveProperty('activeRunId')
    expect((await test.api.submitTurn(session.id, 'next')).created).toBe(true)
  })

  it('ends a run queued behind the seal of the previous one, and leaves that seal alone', async () => {
    const session = await test.api.createSession({ runtime: 'shell' }, 'a')
    await claimAll('w')
    await worker.attach(session)
    await worker.start(session, session.activeRunId ?? '')
    await worker.end(session, session.activeRunId ?? '', { status: 'completed' }, { seal: true })
    expect((await test.api.session(session.id)).phase).toBe('finalizing')
    const { run } = await test.api.submitTurn(session.id, 'b')
    expect((await cancel(session, run.id)).body.run).toMatchObject({ status: 'cancelled', attempts: 0 })
    const after = await test.api.session(session.id)
    expect([after.phase, after.activeRunId]).toEqual(['finalizing', undefined])
  })

  it('asks an active run to stop once, however often it is sent, and leaves its status', async () => {
    const session = await test.api.createSession({}, 'a')
    await claimAll('w')
    for (const status of ['dispatching', 'running']) {
      if (status === 'running') await worker.start(session, session.activeRunId ?? '')
      for (const _ of [1, 2]) {
        const { body } = await cancel(session)
        expect(body.run).toMatchObject({ status, cancellationRequested: true })
        expect(body.run).not.toHaveProperty('endedAt')
      }
    }
    expect(await typesOf(session)).toEqual(['svc.message.created'])
    expect((await test.api.session(session.id)).activeRunId).toBe(session.activeRunId)
  })

  it.each(['completed', 'failed', 'crashed', 'cancelled'] as const)(
    'changes nothing once the run is %s',
    async status => {
      const session = await test.api.createSession({}, 'a')
      await worker.start(session, session.activeRunId ?? '')
      await worker.end(session, session.activeRunId ?? '', { status })
      const before = { run: await readRun(session), session: await test.api.session(session.id) }
      const answer = await cancel(session)
      expect([answer.status, answer.body.run]).toEqual([200, before.run])
      expect(await test.api.session(session.id)).toEqual(before.session)
    },
  )

  it('answers 404 for a run of another session and does not touch it', async () => {
    const [one, other] = [await test.api.createSession({}, 'a'), await test.api.createSession({}, 'b')]
    expect(outcome(await cancel(one, other.activeRunId))).toBe('404 cloud_session_not_found')
    expect((await readRun(other)).status).toBe('queued')
  })

  it('accepts no body', async () => {
    const session = await test.api.createSession({}, 'a')
    const answer = await test.api.call('POST', `${path(session)}/cancel`, { reason: 'x' })
    expect(refusedFields(answer)).toBe('400 invalid_request reason')
    expect((await readRun(session)).status).toBe('queued')
  })
})

describe('the fence', () => {
  it('is null while nothing executes', async () => {
    expect(await readFence(await test.api.createSession())).toBeNull()
    expect(await readFence(await test.api.createSession({}, 'a'))).toBeNull()
  })

  it('names the holder, its run and the expiry', async () => {
    const session = await test.api.createSession({}, 'a')
    await claimAll('worker-1')
    const run = await readRun(session)
    const fence = await readFence(session)
    expect(fence).toEqual({
      runId: run.id,
      turnId: run.turnId,
      attempt: 1,
      token: 1,
      holder: 'worker-1',
      acquiredAt: expect.any(String),
      heartbeatAt: expect.any(String),
      expiresAt: expect.any(String),
    })
    expect(Date.parse(fence?.expiresAt ?? '') - Date.parse(fence?.heartbeatAt ?? '')).toBe(60_000)
  })

  it('grows by one each time execution changes hands, even from run to run', async () => {
    const session = await test.api.createSession({}, 'a')
    await claimAll('w1')
    await leaveProcess(test.db.database, 'w1')
    await claimAll('w2', adoptLapsed)
    expect(await readFence(session)).toMatchObject({ holder: 'w2', token: 2, attempt: 1 })
    await worker.end(session, session.activeRunId ?? '')
    expect(await readFence(session)).toBeNull()
    const { run } = await test.api.submitTurn(session.id, 'b')
    expect(await readFence(session)).toBeNull()
    await claimAll('w3')
    expect(await readFence(session)).toMatchObject({ runId: run.id, holder: 'w3', token: 3, attempt: 1 })
  })

  it('is freed by archiving', async () => {
    const session = await test.api.createSession({}, 'a')
    await claimAll('w')
    await test.api.call('DELETE', `/v1/sessions/${session.id}`)
    expect(await readFence(session)).toBeNull()
  })
})
