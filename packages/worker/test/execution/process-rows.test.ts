import type { Fence, Session } from '@berth/contract'
import { forgetProcesses, hearProcess, leaveProcess } from '@berth/platform/processes/process-sql.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { endedRun, outcomeOf, startsOf } from '@berth/testing/runs/ended-run.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import { until } from '@berth/testing/until.ts'
import { touch } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ClaimLost } from '../../src/claim/claim.ts'
import { adoptLapsed } from '../../src/claim/claim-sql.ts'
import { lapseOrphans } from '../../src/claim/hold-sql.ts'
import { underFence } from '../../src/claim/under-fence.ts'
import { Worker } from '../../src/worker.ts'

const HOUR_MS = 3_600_000
/** Life of a worker's claims; the tests wait for several of its heartbeats. */
const FENCE_MS = 4_000
/** For rows of the test: long enough that none that was heard of just now lapses before the next statement. */
const PATIENCE_MS = 60_000

let test: TestService
let stack: AsyncDisposableStack
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api' } })
})
afterAll(() => test[Symbol.asyncDispose]())
beforeEach(() => {
  stack = new AsyncDisposableStack()
})
afterEach(async () => {
  await stack.disposeAsync()
  await test.db.database.query('delete from processes')
})

async function startWorker(clockOffMs = 0): Promise<Worker> {
  const context = await workerContext(test, stack, { limits: { fenceMs: FENCE_MS } })
  const worker = stack.use(new Worker({ ...context, clock: { now: () => new Date(Date.now() + clockOffMs) } }))
  await worker.start()
  return worker
}

const waiting = () => test.api.createSession({ runtime: 'shell' }, 'while [ ! -e go ]; do sleep 0.02; done; echo went')
const go = (session: Session) => touch(test.db.database, test.dataDir, session, 'go')
const fenceOf = async (session: Session) =>
  (await test.api.get<{ fence: Fence | null }>(`/v1/sessions/${session.id}/fence`)).body.fence
const held = (session: Session, by?: Worker) =>
  until('a running run', async () => {
    const fence = await fenceOf(session)
    const running = (await test.api.session(session.id)).phase === 'running'
    return running && fence !== null && (by === undefined || fence.holder === by.holder) && fence
  })

/** Waits until a process has written its row so many times more. */
async function beats(id: string, count: number): Promise<void> {
  let last = ''
  for (let seen = 0; seen <= count; seen += 1) {
    last = await until('a heartbeat', async () => {
      const { rows } = await test.db.database.query<{ at: string }>(
        'select heard_at::text as at from processes where id = $1',
        [id],
      )
      return rows[0] !== undefined && rows[0].at !== last && rows[0].at
    })
  }
}

/** Makes a row of a process that was last heard of some time ago, and without a gap since another time. */
async function writeProcess(id: string, heardAgoMs: number, sinceAgoMs = heardAgoMs): Promise<void> {
  await hearProcess(test.db.database, {
    id,
    host: 'nowhere',
    roles: ['worker'],
    release: null,
    patienceMs: PATIENCE_MS,
  })
  await test.db.database.query(
    `update processes set heard_at = clock_timestamp() - $2 * interval '1 millisecond',
       heard_since = clock_timestamp() - $3 * interval '1 millisecond' where id = $1`,
    [id, heardAgoMs, sinceAgoMs],
  )
}

const adopt = (holder: string, now = new Date()) =>
  adoptLapsed(test.db.database, { holder, hosts: ['nowhere'], now }, 100)

/** Gives a fresh Run to a holder, without a worker. */
async function heldBy(holder: string): Promise<Session> {
  const session = await test.api.createSession({}, 'a')
  await test.db.database.query("update runs set status = 'dispatching' where session_id = $1", [session.id])
  await test.db.database.query(
    `insert into executions (organization_id, session_id, token, task, run_id, attempt, holder, acquired_at,
       heartbeat_at, expires_at)
     values ($1, $2, 1, 'run', $3, 1, $4, now(), now(), 'infinity')`,
    [session.organizationId, session.id, session.activeRunId, holder],
  )
  return session
}

describe('claims of a process', () => {
  it('are held without a write, however long', async () => {
    const worker = await startWorker()
    const session = await waiting()
    await held(session, worker)
    const row = async () =>
      (
        await test.db.database.query<{ row: string }>(
          "select xmin::text || ctid || expires_at as row from executions where session_id = $1 and expires_at = 'infinity'",
          [session.id],
        )
      ).rows
    const before = await row()
    expect(before).toHaveLength(1)
    await beats(worker.holder, 8)
    expect(await row()).toEqual(before)
    await go(session)
    expect(outcomeOf(await endedRun(test.api, session, session.activeRunId ?? ''))).toBe('completed completed - 1')
  })

  it.each([
    ['ahead', HOUR_MS],
    ['behind', -HOUR_MS],
  ])('stay with it while the clock of another is an hour %s', async (_, offMs) => {
    const worker = await startWorker()
    const session = await waiting()
    const before = await held(session, worker)
    const other = await startWorker(offMs)
    await beats(other.holder, 6)
    expect(await fenceOf(session)).toMatchObject({ holder: worker.holder, token: before?.token })
    await go(session)
    const run = await endedRun(test.api, session, session.activeRunId ?? '')
    expect(startsOf(run)).toHaveLength(1)
  })

  it('are taken by a process whose own clock is an hour behind', async () => {
    const worker = await startWorker(-HOUR_MS)
    const session = await waiting()
    await held(session, worker)
    await go(session)
    expect(outcomeOf(await endedRun(test.api, session, session.activeRunId ?? ''))).toBe('completed completed - 1')
  })

  it('are worked on even if the answer to their statement was lost', async () => {
    const context = await workerContext(test, stack, { limits: { fenceMs: FENCE_MS } })
    let lost = false
    const query: typeof context.db.query = async (statement, values) => {
      const result = await context.db.query<never>(statement, values)
      const claims = typeof statement === 'object' && statement.name === 'claim-run'
      if (!claims || lost || !result.rows.some(({ id }) => id !== null)) return result
      lost = true
      throw new DatabaseUnavailable(new Error('the connection was cut'))
    }
    const cut = { query, transaction: context.db.transaction.bind(context.db), masterKey: context.db.masterKey }
    await stack.use(new Worker({ ...context, db: cut })).start()
    const session = await test.api.createSession({ runtime: 'shell' }, 'echo went')
    expect(outcomeOf(await endedRun(test.api, session, session.activeRunId ?? ''))).toBe('completed completed - 1')
    expect(lost).toBe(true)
  })

  it('are worked on even if they were committed after the worker had looked for them', async () => {
    const session = await test.api.createSession({ runtime: 'shell' }, 'echo went')
    const context = await workerContext(test, stack, { limits: { fenceMs: FENCE_MS } })
    const { db } = context
    const polled = Promise.withResolvers<void>()
    let late: Promise<unknown> | undefined
    const query: typeof db.query = async (statement, values) => {
      const name = typeof statement === 'object' ? statement.name : undefined
      if (name === 'claim-run' && late === undefined) {
        late = polled.promise.then(() => db.query(statement, values))
        throw new DatabaseUnavailable(new Error('the connection was cut'))
      }
      const result = await db.query<never>(statement, values)
      if (name === 'lapse-unheld') {
        polled.resolve()
        // The worker's next claim would take the Run before the late one does.
        await late
      }
      return result
    }
    const cut = { query, transaction: db.transaction.bind(db), masterKey: db.masterKey }
    await stack.use(new Worker({ ...context, db: cut })).start()
    expect(outcomeOf(await endedRun(test.api, session, session.activeRunId ?? ''))).toBe('completed completed - 1')
  })

  it.each([
    ['it had no other', false],
    ['it looked for more work', true],
  ])('go to another if its host left and the answer to giving them back was lost while %s', async (_, poll) => {
    const context = await workerContext(test, stack, { limits: { fenceMs: FENCE_MS } })
    const { db, hosts } = context
    const [polling, lost] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const query: typeof db.query = async (statement, values) => {
      const name = typeof statement === 'object' ? statement.name : undefined
      if (name === 'lapse-claim') {
        if (poll) await polling.promise
        setImmediate(lost.resolve)
        throw new DatabaseUnavailable(new Error('the connection was cut'))
      }
      if (name === 'adopt-lapsed' && hosts.holds('other')) {
        polling.resolve()
        if (poll) await lost.promise
      }
      return await db.query<never>(statement, values)
    }
    const cut = { query, transaction: db.transaction.bind(db), masterKey: db.masterKey }
    const worker = stack.use(new Worker({ ...context, db: cut }))
    await worker.start()
    const session = await waiting()
    await held(session, worker)
    const own = hosts.of(context.host)
    hosts.remove(own.id)
    if (poll) hosts.add({ ...own, id: 'other' })
    await until('a claim that another may take', async () => {
      const { rowCount } = await db.query(
        'select from executions where session_id = $1 and task is not null and expires_at < now()',
        [session.id],
      )
      return rowCount === 1
    })
    if (poll) hosts.remove('other')
    hosts.add(own)
    await go(session)
    expect(outcomeOf(await endedRun(test.api, session, session.activeRunId ?? ''))).toBe('completed completed - 1')
  })

  it('go to another at once when it stops in order', async () => {
    const session = await heldBy('leaving')
    await writeProcess('leaving', 0, 10_000)
    await writeProcess('next', 0, 10_000)
    expect(await adopt('next')).toEqual([])
    await leaveProcess(test.db.database, 'leaving')
    expect(await adopt('next')).toMatchObject([{ sessionId: session.id, token: 2 }])
    await test.api.call('DELETE', `/v1/sessions/${session.id}`)
  })
})

describe('a process that falls silent', () => {
  it('has no free hands, nor has one without a host', async () => {
    const context = await workerContext(test, stack, { limits: { fenceMs: HOUR_MS } })
    let offMs = 0
    const worker = stack.use(new Worker({ ...context, clock: { now: () => new Date(Date.now() + offMs) } }))
    expect(worker.load.free).toBe(0)
    await worker.start()
    await until('free hands', async () => worker.load.free === 8)
    offMs = HOUR_MS
    expect(worker.load.free).toBe(0)
    offMs = 0
    context.hosts.remove(context.host)
    expect(worker.load).toEqual({ busy: 0, free: 0 })
  })

  it('loses its claims once, and its late writes are refused', async () => {
    const session = await heldBy('silent')
    await writeProcess('silent', 90_000, HOUR_MS)
    for (const id of ['one', 'two']) await writeProcess(id, 0, HOUR_MS)
    const taken = (await Promise.all([adopt('one'), adopt('two')])).flat()
    expect(taken).toMatchObject([{ sessionId: session.id, token: 2 }])
    expect(await adopt('one')).toEqual([])
    // It is back, and believes that it still holds the Run.
    expect(await hearProcess(test.db.database, identity('silent'))).toBe(true)
    const [claim] = taken
    const stale = { ...claim, holder: 'silent', token: 1 } as NonNullable<typeof claim>
    const context = { db: test.db.database, clock: { now: () => new Date() } }
    await expect(underFence(context, stale, async () => 'written')).rejects.toThrow(ClaimLost)
    // The same number from another hand proves nothing either.
    await expect(underFence(context, { ...stale, token: 2 }, async () => 'written')).rejects.toThrow(ClaimLost)
    expect(await underFence(context, claim as NonNullable<typeof claim>, async () => 'written')).toBe('written')
    expect(await hearProcess(test.db.database, identity('silent'))).toBe(false)
    await test.api.call('DELETE', `/v1/sessions/${session.id}`)
  })

  it('keeps its claims from one that was silent as well, as after a failover of the database', async () => {
    const session = await heldBy('silent')
    await writeProcess('silent', HOUR_MS)
    // Its own row has lapsed: it may be as long ago that it spoke.
    await writeProcess('other', 90_000, 2 * HOUR_MS)
    expect(await adopt('other')).toEqual([])
    // It was heard of again, but only just.
    await hearProcess(test.db.database, identity('other'))
    expect(await adopt('other')).toEqual([])
    await writeProcess('other', 0, 120_000)
    expect(await adopt('other')).toMatchObject([{ sessionId: session.id, token: 2 }])
    await test.api.call('DELETE', `/v1/sessions/${session.id}`)
  })

  it('is forgotten once nobody holds anything in its name', async () => {
    const session = await heldBy('dead')
    await writeProcess('dead', 2 * HOUR_MS)
    await writeProcess('lively', 0)
    expect(await forgetProcesses(test.db.database)).toBe(0)
    await test.api.call('DELETE', `/v1/sessions/${session.id}`)
    expect(await forgetProcesses(test.db.database)).toBe(1)
  })

  it('offers its claims even if its row is gone', async () => {
    const session = await heldBy('unknown')
    await writeProcess('next', 0, HOUR_MS)
    expect(await adopt('next')).toEqual([])
    // Seals of the workers before may be among them.
    expect(await lapseOrphans(test.db.database)).toBeGreaterThan(0)
    expect(await adopt('next')).toMatchObject([{ sessionId: session.id, token: 2 }])
    await test.api.call('DELETE', `/v1/sessions/${session.id}`)
  })
})

function identity(id: string) {
  return { id, host: 'nowhere', roles: ['worker'], release: null, patienceMs: PATIENCE_MS }
}
