import type { Session } from '@berth/contract'
import { endRun } from '@berth/core/sessions/runs/end-run.ts'
import { releaseFence } from '@berth/core/sessions/runs/fence-sql.ts'
import { lockRun } from '@berth/core/sessions/runs/run-sql.ts'
import type { Database, Queryable } from '@berth/platform/storage/postgres/database.ts'
import { claimQueued } from '@berth/testing/runs/claim-queued.ts'
import { keyOf } from '@berth/testing/runs/states.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { RunClaim } from '../../src/claim/claim.ts'
import { adoptLapsed, claimWorkspaces } from '../../src/claim/claim-sql.ts'
import type { ExecutionContext } from '../../src/claim/execution-context.ts'
import { endClaimedRun, executionLost, settleLoss } from '../../src/claim/finish.ts'
import { isUnclaimed, lapseClaim } from '../../src/claim/hold-sql.ts'
import { underFence } from '../../src/claim/under-fence.ts'

const stack = new AsyncDisposableStack()
let test: TestService
let context: ExecutionContext
let deadlocks = 0
beforeAll(async () => {
  test = stack.use(await startTestService({ variables: { BERTH_ROLES: 'api' } }))
  const made = await workerContext(test, stack, { limits: { maxAttempts: 100, maxHandovers: 1000 } })
  context = { ...made, db: counting(made.db) }
})
afterAll(() => stack.disposeAsync())
beforeEach(() => {
  deadlocks = 0
})
afterEach(async () => {
  expect(deadlocks).toBe(0)
  await test.db.database.query("update runs set status = 'cancelled', ended_at = now() where ended_at is null")
  await test.db.database.query('update executions set task = null, run_id = null')
  await test.db.database.query('delete from workspace_requests')
})

/** Counts deadlocks, which a transaction otherwise hides by running again. */
function counting(db: Database): Database {
  const count = (error: unknown) => {
    if (typeof error === 'object' && error !== null && 'code' in error && error.code === '40P01') deadlocks += 1
    throw error
  }
  const queries = <Of extends Queryable>(of: Of): Of => ({
    ...of,
    query: <Row>(statement: Parameters<Queryable['query']>[0], values?: readonly unknown[]) =>
      of.query<Row>(statement, values).catch(count) as ReturnType<typeof of.query<Row>>,
    afterCommit: of.afterCommit?.bind(of),
  })
  return { ...queries(db), transaction: (work, options) => db.transaction(tx => work(queries(tx)), options) }
}

const by = (holder = 'worker') => ({ holder, hosts: [context.host], now: new Date() })
const claim = (db: Queryable = context.db, holder?: string) => claimQueued(db, by(holder), 1000)
const restore = (db: Queryable = context.db, holder?: string) => claimWorkspaces(db, by(holder), 1000)
const adopt = (db: Queryable = context.db, holder = 'next') => adoptLapsed(db, by(holder), 1000)
const queued = () => test.api.createSession({ runtime: 'shell' }, 'true')
const cancel = ({ id, activeRunId }: Session) => test.api.call('POST', `/v1/sessions/${id}/runs/${activeRunId}/cancel`)
const archive = ({ id }: Session) => test.api.call('DELETE', `/v1/sessions/${id}`)
const request = (session: Session) => {
  const { organizationId, sessionId } = keyOf(session)
  return context.db.query('insert into workspace_requests values ($1, $2, now())', [organizationId, sessionId])
}

/** Returns the state of the Session's Run, and who holds what of the Session. */
async function stateOf({ id, activeRunId }: Session) {
  const { rows } = await context.db.query<{ state: string }>(
    `select concat_ws(' ', r.status, e.task, e.holder) as state from runs r
     left join executions e on e.organization_id = r.organization_id and e.session_id = r.session_id and e.task is not null
     where r.session_id = $1 and r.id = $2`,
    [id, activeRunId],
  )
  return rows[0]?.state
}

async function claimed(session: Session, holder?: string): Promise<RunClaim> {
  const found = (await claim(context.db, holder)).find(({ sessionId }) => sessionId === session.id)
  if (found === undefined) throw new Error('nothing was claimed')
  return found
}

/** Makes a Session that had a worker before, and waits for another. */
async function requeued(): Promise<Session> {
  const session = await queued()
  const held = await claimed(session)
  await underFence(context, held, tx => settleLoss(tx, context, held, { sandboxLost: false, outcome: executionLost }))
  await context.db.query('update runs set due_at = now() where session_id = $1', [session.id])
  return session
}

/** Waits until a statement of this database waits for a row. */
const waits = () =>
  until('a statement waits for a lock', async () => {
    const { rowCount } = await test.db.database.query(
      "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    )
    return rowCount > 0
  })

/** Takes work of a Session, and begins another claim before that commits: its snapshot does not have it. */
async function interleaved<T>(
  take: (tx: Queryable) => Promise<readonly unknown[]>,
  other: () => Promise<T>,
): Promise<T> {
  let waiting: Promise<T> | undefined
  await context.db.transaction(async tx => {
    expect(await take(tx)).toHaveLength(1)
    waiting ??= other()
    await waits()
  })
  if (waiting === undefined) throw new Error('nothing was claimed')
  return waiting
}

describe('of two workers that find different work of a Session, one takes it', () => {
  it('a Run, and the other no workspace', async () => {
    const session = await queued()
    await request(session)
    expect(await interleaved(tx => claim(tx, 'one'), restore)).toEqual([])
    expect(await stateOf(session)).toBe('dispatching run one')
  })

  it('a workspace, and the other no Run', async () => {
    const session = await queued()
    await request(session)
    expect(await interleaved(tx => restore(tx, 'one'), claim)).toEqual([])
    expect(await stateOf(session)).toBe('queued restore one')
  })

  it('a Session that was at work before as well', async () => {
    const session = await requeued()
    await request(session)
    await context.db.transaction(async tx => {
      expect(await claim(tx, 'one')).toHaveLength(1)
      expect(await restore(context.db, 'two')).toEqual([])
    })
    expect(await stateOf(session)).toBe('dispatching run one')
  })
})

describe('a claim', () => {
  it('passes over a Run that somebody is cancelling', async () => {
    const session = await queued()
    const runId = session.activeRunId ?? ''
    await context.db.transaction(async tx => {
      await lockRun(tx, keyOf(session), runId)
      expect(await claim()).toEqual([])
      await endRun(tx, keyOf(session), runId, { status: 'cancelled' }, new Date())
    })
    expect(await claim()).toEqual([])
  })

  it('waits for no execution that somebody has locked, and takes the work of others', async () => {
    const session = await requeued()
    const { api } = await test.newTenant()
    const run = await api.createSession({ runtime: 'shell' }, 'true')
    const idle = await api.createSession({ runtime: 'shell' })
    for (const each of [session, idle]) await request(each)
    await context.db.transaction(async tx => {
      expect(await isUnclaimed(tx, keyOf(session))).toBe(true)
      expect(await claim()).toMatchObject([{ sessionId: run.id }])
      expect(await claimWorkspaces(context.db, by(), 1)).toMatchObject([{ sessionId: idle.id }])
    })
    expect(await claim()).toMatchObject([{ sessionId: session.id }])
  })

  it('is followed by a cancellation and an archiving that come after it', async () => {
    const [one, other] = [await queued(), await queued()]
    const following: Promise<unknown>[] = []
    await context.db.transaction(async tx => {
      expect(await claim(tx)).toHaveLength(2)
      following.push(cancel(one), archive(other))
      await waits()
    })
    await Promise.all(following)
    const { cancellationRequested } = await test.api.run(one.id, one.activeRunId ?? '')
    expect([cancellationRequested, await stateOf(one)]).toEqual([true, 'dispatching run worker'])
    expect(await stateOf(other)).toBe('cancelled')
  })

  it('adopts no Run that its holder ends or requeues meanwhile, and the seal of one that it ends', async () => {
    const ways = {
      end: (tx: Queryable, held: RunClaim) => endRun(tx, held, held.runId, { status: 'completed' }, new Date()),
      requeue: (tx: Queryable, held: RunClaim) =>
        settleLoss(tx, context, held, { sandboxLost: false, outcome: executionLost }),
      seal: (tx: Queryable, held: RunClaim) =>
        endRun(tx, held, held.runId, { status: 'completed' }, new Date(), { seal: true }),
    }
    const seen: Record<string, unknown> = {}
    for (const [name, write] of Object.entries(ways)) {
      const session = await queued()
      const held = await claimed(session)
      await lapseClaim(context.db, held)
      await underFence(context, held, async tx => {
        expect(await adopt()).toEqual([])
        await write(tx, held)
      })
      seen[name] = (await adopt()).map(({ token }) => token - held.token)
    }
    expect(seen).toEqual({ end: [], requeue: [], seal: [1] })
  })

  it('takes no workspace whose request its holder carries out meanwhile', async () => {
    const session = await test.api.createSession({ runtime: 'shell' })
    const key = keyOf(session)
    await request(session)
    const [held] = await restore()
    if (held === undefined) throw new Error('nothing was claimed')
    await lapseClaim(context.db, held)
    await underFence(context, held, async tx => {
      expect(await restore(context.db, 'next')).toEqual([])
      await tx.query({ text: 'delete from workspace_requests where session_id = $1', values: [session.id] })
      await releaseFence(tx, key)
    })
    expect(await restore(context.db, 'next')).toEqual([])
  })

  it('takes over a workspace whose worker was lost, once', async () => {
    const session = await test.api.createSession({ runtime: 'shell' })
    await request(session)
    const [held] = await restore()
    if (held === undefined) throw new Error('nothing was claimed')
    expect(await restore(context.db, 'next')).toEqual([])
    await lapseClaim(context.db, held)
    const both = await Promise.all([restore(context.db, 'next'), restore(context.db, 'other')])
    expect(both.flat().map(({ token }) => token - held.token)).toEqual([1])
  })
})

it.each([7, 1020, 2033, 3046])(
  'many claims, lapses, ends and cancellations at once lose no Run, hold none twice, and never lock each other: %i',
  async seed => {
    const sessions: Session[] = []
    for (let n = 0; n < 40; n += 1) sessions.push(await queued())
    const owners = new Map<string, string>()
    const failures: string[] = []
    let random = seed
    const one = (of: number) => {
      random = (random * 1_103_515_245 + 12_345) % 2_147_483_648
      return Math.floor((random / 2_147_483_648) * of)
    }
    const attend = async (held: RunClaim) => {
      const name = `${held.sessionId}/${held.token}`
      if (owners.has(name)) failures.push(`${name} was given to ${owners.get(name)} and to ${held.holder}`)
      owners.set(name, held.holder)
      const lost = () => undefined
      switch (one(4)) {
        case 0:
          return lapseClaim(context.db, held)
        case 1:
          return underFence(context, held, tx =>
            settleLoss(tx, context, held, { sandboxLost: false, outcome: executionLost }),
          ).catch(lost)
        case 2:
          return Promise.all([
            lapseClaim(context.db, held),
            endClaimedRun(context, held, { status: 'completed' }).catch(lost),
          ])
        default:
          return endClaimedRun(context, held, { status: 'completed' }).catch(lost)
      }
    }
    const open = async () => {
      const { rows } = await context.db.query<{ count: number }>(
        'select count(*)::integer as count from runs where ended_at is null and session_id = any ($1)',
        [sessions.map(({ id }) => id)],
      )
      return rows[0]?.count ?? 0
    }
    const work = async (holder: string) => {
      for (let round = 0; (await open()) > 0; round += 1) {
        if (round > 2000) throw new Error('a Run was lost')
        const all = [
          ...(await adoptLapsed(context.db, by(holder), 1 + one(4))),
          ...(await claimQueued(context.db, by(holder), 1 + one(4))),
        ]
        for (const held of all) await attend(held)
      }
    }
    const stop = async () => {
      for (const session of sessions.slice(0, 10)) {
        // Before its first claim a Session has no execution that could be locked before the Run.
        await until('a first claim', async () => {
          const { rowCount } = await context.db.query('select 1 from executions where session_id = $1', [session.id])
          return rowCount > 0
        })
        await (one(2) === 0 ? cancel(session) : archive(session))
      }
    }
    await Promise.all([...Array.from({ length: 8 }, (_, n) => work(`worker-${n}`)), stop()])
    expect(failures).toEqual([])
  },
)
