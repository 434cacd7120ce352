import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Session } from '@berth/contract'
import { type Answer, Api } from '@berth/testing/api/api.ts'
import { activitiesOf, outcomeOf } from '@berth/testing/runs/ended-run.ts'
import { outcome, tally } from '@berth/testing/runs/outcome.ts'
import { WorkerStandIn } from '@berth/testing/runs/states.ts'
import { startTestService, variablesAlongside } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { brokenDriver, damages, Gate, Resuming } from '@berth/testing/workspaces/resuming.ts'
import { leaseOf } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const opened = new AsyncDisposableStack()
let bench: Resuming
/** The same service with a shorter wait. */
let impatient: Api
let standIn: WorkerStandIn
let stack: AsyncDisposableStack
beforeAll(async () => {
  bench = opened.use(await Resuming.open())
  const variables = { BERTH_ROLES: 'api', ...variablesAlongside(bench.test) }
  // bound: callers are to wait in vain for so long
  const { url } = opened.use(await startTestService({ variables, fixed: { workspaceWaitMs: 1000 } }))
  impatient = new Api(url, bench.test.tenant.apiKey)
  standIn = new WorkerStandIn(bench.test.db.database)
})
afterAll(() => opened.disposeAsync())
beforeEach(() => {
  stack = new AsyncDisposableStack()
})
afterEach(async () => {
  await stack.disposeAsync()
  // A request that one test leaves waiting must not reach the next test's worker.
  await bench.test.db.database.query('delete from workspace_requests')
  await bench.test.db.database.query(
    "update runs set status = 'crashed', ended_at = clock_timestamp() where ended_at is null",
  )
})

const restore = (session: Session, api = bench.api): Promise<Answer<{ session: Session }>> =>
  api.call('PUT', `/v1/sessions/${session.id}/workspace`)
const leaseId = (session: Session) => leaseOf(bench.test.db.database, session)

/** Sets the seconds that the lease has left, and those to its bound. */
async function leave(session: Session, leftSeconds: number, boundSeconds = 100): Promise<void> {
  await bench.test.db.database.query(
    `update leases set expires_at = clock_timestamp() + $2 * interval '1 second',
       bound_at = clock_timestamp() + $3 * interval '1 second'
     where session_id = $1 and ended_at is null`,
    [session.id, leftSeconds, boundSeconds],
  )
}

async function leaseCount(session: Session): Promise<number> {
  const { rows } = await bench.test.db.database.query<{ n: number }>(
    'select count(*)::int as n from leases where session_id = $1',
    [session.id],
  )
  return rows[0]?.n ?? 0
}

async function attached(): Promise<Session> {
  const session = await bench.api.createSession({ runtime: 'shell' })
  await standIn.attach(session)
  return bench.api.session(session.id)
}

/** Makes a Session whose last Run is sealed and whose sandbox is gone. */
async function expired(): Promise<Session> {
  const { session } = await bench.sealed('shell', 'head -c 1000 /dev/urandom | base64 > random; echo kept > note')
  return bench.expire(session)
}

const secondsLeft = ({ body }: Answer<{ session: Session }>) =>
  (Date.parse(body.session.workspace.expiresAt ?? '') - Date.now()) / 1000

describe('an attached workspace', () => {
  it('with a third of its idle time left is returned unchanged, whatever runs', async () => {
    const session = await attached()
    await leave(session, 25)
    const before = await bench.api.session(session.id)
    expect(await restore(session)).toMatchObject({ status: 200, body: { session: before } })
    const { run } = await bench.api.submitTurn(session.id, 'true')
    await standIn.start(session, run.id)
    expect(await restore(session)).toMatchObject({ status: 200, body: { session: { phase: 'running' } } })
    expect((await bench.api.session(session.id)).workspace).toEqual(before.workspace)
    expect(await leaseCount(session)).toBe(1)
  })

  it('with less is renewed in place', async () => {
    const session = await attached()
    await leave(session, 15)
    const answer = await restore(session)
    expect(answer.status).toBe(200)
    expect(secondsLeft(answer)).toBeGreaterThan(50)
    expect(await leaseCount(session)).toBe(1)
  })

  it('is renewed up to its bound', async () => {
    const session = await attached()
    await leave(session, 5, 18)
    const answer = await restore(session)
    expect(secondsLeft(answer)).toBeGreaterThan(5)
    expect(secondsLeft(answer)).toBeLessThan(19)
  })

  it('counts as none past its bound', async () => {
    const session = await attached()
    await leave(session, -5, -5)
    expect(outcome(await restore(session, impatient))).toBe('503 cloud_workspace_unavailable')
    expect((await bench.api.session(session.id)).workspace.state).toBe('expired')
    expect((await bench.api.events(session.id)).map(event => event.type)).toEqual(['svc.workspace.expired'])
  })

  it('with a run and little time is not renewed, because the run renews it', async () => {
    const session = await attached()
    const { run } = await bench.api.submitTurn(session.id, 'true')
    await standIn.start(session, run.id)
    await leave(session, 15)
    const answer = await restore(session)
    expect([outcome(answer), answer.headers.get('retry-after')]).toEqual(['409 cloud_run_in_progress', '2'])
  })
})

describe('a session that has no workspace to return', () => {
  it('is not found if it is archived, even while it was attached', async () => {
    const session = await attached()
    await bench.api.call('DELETE', `/v1/sessions/${session.id}`)
    expect(outcome(await restore(session))).toBe('404 cloud_session_not_found')
  })

  it('is not found by another tenant', async () => {
    const session = await attached()
    const other = await bench.test.newTenant()
    expect(outcome(await restore(session, other.api))).toBe('404 cloud_session_not_found')
    expect(outcome(await bench.api.call('PUT', `/v1/sessions/${randomUUID()}/workspace`))).toBe(
      '404 cloud_session_not_found',
    )
  })

  it('cannot be resumed if nothing was sealed', async () => {
    const session = await bench.api.createSession({ runtime: 'shell' }, 'true')
    await standIn.start(session, session.activeRunId ?? '')
    await standIn.end(session, session.activeRunId ?? '')
    expect(outcome(await restore(session))).toBe('409 cloud_resume_unavailable')
  })

  it('says so while its run is being sealed, with or without a turn that waits for that', async () => {
    const session = await attached()
    const { run } = await bench.api.submitTurn(session.id, 'true')
    await standIn.start(session, run.id)
    await standIn.end(session, run.id)
    await bench.test.db.database.query(
      `insert into executions (organization_id, session_id, token, task, run_id, attempt, holder, acquired_at,
         heartbeat_at, expires_at)
       select organization_id, session_id, 1, 'seal', id, 1, 'somebody', now(), now(), now() + interval '1 hour'
       from runs where session_id = $1`,
      [session.id],
    )
    expect((await restore(session)).status).toBe(200)
    await leave(session, 15)
    const answer = await restore(session)
    expect([outcome(answer), answer.headers.get('retry-after')]).toEqual(['409 cloud_session_finalizing', '2'])
    await bench.api.submitTurn(session.id, 'true')
    expect(outcome(await restore(session))).toBe('409 cloud_session_finalizing')
  })
})

describe('a session whose run is bringing its workspace up', () => {
  it('is waited for, up to the limit of the wait', async () => {
    const session = await bench.api.createSession({ runtime: 'shell' }, 'true')
    const answer = await restore(session, impatient)
    expect([outcome(answer), answer.headers.get('retry-after')]).toEqual(['503 cloud_workspace_starting', '2'])
    expect(await leaseCount(session)).toBe(0)
  })

  it('is answered once the workspace is up', async () => {
    const session = await bench.api.createSession({ runtime: 'shell' }, 'echo done')
    const answer = restore(session)
    await bench.work(stack)
    expect(await answer).toMatchObject({ status: 200, body: { session: { workspace: { state: 'attached' } } } })
    expect(outcomeOf(await bench.settled(session))).toBe('completed completed - 1')
    expect(await leaseCount(session)).toBe(1)
  })
})

describe('a requested workspace', () => {
  it('that never existed is made, and the next turn runs in it', async () => {
    await bench.work(stack)
    const session = await bench.api.createSession({ runtime: 'shell' })
    expect(await restore(session)).toMatchObject({
      status: 200,
      body: { session: { phase: 'idle', workspace: { state: 'attached' }, continuation: { state: 'fresh' } } },
    })
    const lease = await leaseId(session)
    expect(outcomeOf(await bench.next(session, 'echo done'))).toBe('completed completed - 1')
    expect(await leaseId(session)).toBe(lease)
  })

  it('that has expired is restored, and the next turn runs in it', async () => {
    await bench.work(stack)
    const session = await expired()
    const answer = await restore(session)
    expect(answer).toMatchObject({
      status: 200,
      body: { session: { id: session.id, workspace: { state: 'attached' }, continuation: { state: 'live' } } },
    })
    const lease = await leaseId(session)
    const restores = (await bench.api.events(session.id)).filter(event => event.data['name'] === 'restore')
    expect(restores).toHaveLength(1)
    expect(activitiesOf(await bench.next(session, 'cat note'))).toMatchObject([{ output: 'kept\n' }])
    expect(await leaseId(session)).toBe(lease)
    expect(await leaseCount(session)).toBe(2)
  })

  it('that many request at once is one sandbox', async () => {
    await bench.work(stack)
    const session = await expired()
    expect(tally(await Promise.all(Array.from({ length: 6 }, () => restore(session))))).toEqual({ 200: 6 })
    expect(await leaseCount(session)).toBe(2)
  })

  it('and a turn at the same time get one sandbox, with the sealed work', async () => {
    await bench.work(stack)
    for (const turnFirst of [true, false]) {
      const session = await expired()
      const turn = () => bench.api.submitTurn(session.id, 'cat note')
      const first = turnFirst ? turn() : undefined
      const restoring = restore(session)
      const { run } = await (first ?? turn())
      const ended = await bench.settled(session, run.id)
      expect(activitiesOf(ended)).toMatchObject([{ output: 'kept\n' }])
      expect((await restoring).status).toBe(200)
      expect(await leaseCount(session)).toBe(2)
    }
  })

  it('of a session that is archived meanwhile is not found, and no sandbox stays', async () => {
    const gate = new Gate()
    const holding = brokenDriver(real => ({
      create: async spec => {
        await gate.pass()
        await real.create(spec)
      },
    }))
    await bench.work(stack, { driver: holding })
    stack.defer(() => gate.open())
    const session = await expired()
    gate.shut()
    const restoring = restore(session)
    await until('a sandbox in the making', () => gate.waiting > 0)
    expect((await bench.api.call('DELETE', `/v1/sessions/${session.id}`)).status).toBe(204)
    expect(outcome(await restoring)).toBe('404 cloud_session_not_found')
    gate.open()
    const lease = await leaseId(session)
    await until('the end of the sandbox', async () => {
      const { rows } = await bench.test.db.database.query(
        `select 1 from executions where session_id = $1 and task is not null
         union all select 1 from leases where session_id = $1 and ended_at is null`,
        [session.id],
      )
      return rows.length === 0 && !(await readdir(join(bench.test.dataDir, 'leases'))).includes(lease)
    })
    expect((await bench.api.session(session.id)).workspace.state).toBe('expired')
  })

  it('that cannot be made is unavailable to all who requested it, until it can be made', async () => {
    let broken = false
    const driver = brokenDriver(real => ({
      create: spec => (broken ? Promise.reject(new Error('no room')) : real.create(spec)),
    }))
    await bench.work(stack, { driver })
    const session = await expired()
    broken = true
    const answers = await Promise.all([restore(session), restore(session)])
    expect(tally(answers)).toEqual({ '503 cloud_workspace_unavailable': 2 })
    expect(answers[0]?.headers.get('retry-after')).toBe('2')
    expect(await bench.api.session(session.id)).toMatchObject({
      workspace: { state: 'expired' },
      continuation: { state: 'restorable' },
    })
    broken = false
    expect((await restore(session)).status).toBe(200)
  })

  it('is unavailable while nobody makes sandboxes, and is made once somebody does', async () => {
    const session = await bench.api.createSession({ runtime: 'shell' })
    const answer = await restore(session, impatient)
    expect([outcome(answer), answer.headers.get('retry-after')]).toEqual(['503 cloud_workspace_unavailable', '2'])
    await bench.work(stack)
    expect((await restore(session)).status).toBe(200)
    expect(await leaseCount(session)).toBe(1)
  })

  it('that takes long is reported as starting, and a later request gets it', async () => {
    const gate = new Gate()
    gate.shut()
    const driver = brokenDriver(real => ({
      create: async spec => {
        await gate.pass()
        await real.create(spec)
      },
    }))
    await bench.work(stack, { driver })
    stack.defer(() => gate.open())
    const session = await bench.api.createSession({ runtime: 'shell' })
    const patient = restore(session)
    // A worker has taken the request up, which may take longer than the impatient one waits.
    await until('a sandbox in the making', () => gate.waiting > 0)
    expect(outcome(await restore(session, impatient))).toBe('503 cloud_workspace_starting')
    gate.open()
    expect([(await patient).status, (await restore(session)).status]).toEqual([200, 200])
    expect(await leaseCount(session)).toBe(1)
  })

  it('from a checkpoint that turns out to be damaged cannot be resumed', async () => {
    await bench.work(stack)
    const session = await expired()
    const sealedBy = session.continuation.sealedByRunId ?? ''
    for (const path of await bench.blobFiles(session, sealedBy)) await damages.altered(path)
    expect(outcome(await restore(session))).toBe('409 cloud_resume_unavailable')
    expect((await bench.api.session(session.id)).continuation.reason).toBe('checkpoint_missing')
  })

  it('is taken over from a worker that stops', async () => {
    const gate = new Gate()
    gate.shut()
    const driver = brokenDriver(() => ({ create: () => gate.pass() }))
    const first = stack.use(new AsyncDisposableStack())
    await bench.work(first, { driver })
    const session = await bench.api.createSession({ runtime: 'shell' })
    const restoring = restore(session)
    await until('a sandbox in the making', () => gate.waiting > 0)
    await first.disposeAsync()
    await bench.work(stack)
    expect((await restoring).status).toBe(200)
    expect(outcomeOf(await bench.next(session, 'echo done'))).toBe('completed completed - 1')
  })
})
