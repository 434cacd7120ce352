import type { Session } from '@berth/contract'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { RunClaim } from '../../src/execution/claim/claim.ts'
import { claimChores } from '../../src/execution/claim/claim-chores.ts'
import { claimQueued } from '../../src/execution/claim/claim-queued-sql.ts'
import { adoptLapsed, claimWorkspaces } from '../../src/execution/claim/claim-sql.ts'
import type { ExecutionContext } from '../../src/execution/claim/execution-context.ts'
import { endClaimedRun, executionLost, settleLoss } from '../../src/execution/claim/finish.ts'
import { lapseClaim } from '../../src/execution/claim/hold-sql.ts'
import { underFence } from '../../src/execution/claim/under-fence.ts'
import { findMisaligned } from '../../src/queue/queue-sql.ts'
import { answerReview, askForReview, claimedReviews, claimReviews } from '../../src/sessions/reviews/review-sql.ts'
import { endRun } from '../../src/sessions/runs/end-run.ts'
import { releaseFence } from '../../src/sessions/runs/fence-sql.ts'
import { lockRun, markAwaiting, markResumed, markRunning } from '../../src/sessions/runs/run-sql.ts'
import type { Database, Queryable } from '../../src/storage/postgres/database.ts'
import { openDatabase } from '../../src/storage/postgres/pool.ts'
import { insertQueuedRuns } from '../support/runs/queued-rows.ts'
import { keyOf, WorkerStandIn } from '../support/runs/states.ts'
import { silentLog } from '../support/services/log.ts'
import { startTestService, type TestService } from '../support/services/service.ts'
import { workerContext } from '../support/services/worker-context.ts'
import { alignedQueue } from '../support/storage/aligned-queue.ts'
import { until } from '../support/until.ts'

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
  await alignedQueue(test.db.database)
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
const adopt = (db: Queryable = context.db, holder = 'next') => adoptLapsed(db, by(holder), 1000)
const queued = () => test.api.createSession({ runtime: 'shell' }, 'true')
const runOf = ({ id, activeRunId }: Session) => test.api.run(id, activeRunId ?? '')
const cancel = ({ id, activeRunId }: Session) => test.api.call('POST', `/v1/sessions/${id}/runs/${activeRunId}/cancel`)
const archive = ({ id }: Session) => test.api.call('DELETE', `/v1/sessions/${id}`)

async function entries({ id }: Session) {
  const { rows } = await context.db.query<{ entry: string }>(
    `select concat_ws(' ', work, coalesce(holder, '-'), case when due_at = 'infinity' then 'stands'
       when due_at <= clock_timestamp() then 'due' else 'later' end, case when at_work then 'at work' end) as entry
     from queue where session_id = $1 order by work`,
    [id],
  )
  return rows.map(({ entry }) => entry)
}

async function claimed(session: Session, holder?: string): Promise<RunClaim> {
  const found = (await claim(context.db, holder)).find(({ sessionId }) => sessionId === session.id)
  if (found === undefined) throw new Error('nothing was claimed')
  return found
}

/** Waits until a statement of this database waits for a row. */
const waits = () =>
  until('a statement waits for a lock', async () => {
    const { rowCount } = await test.db.database.query(
      "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    )
    return rowCount > 0
  })

/** Starts a claim while a transaction has locked the work, which the claim then waits for and which the transaction changes. */
async function meanwhile<T>(
  claims: () => Promise<T>,
  lock: (tx: Queryable) => Promise<unknown>,
  write: (tx: Queryable) => Promise<unknown> = async () => undefined,
): Promise<T> {
  let waiting: Promise<T> | undefined
  await context.db.transaction(async tx => {
    await lock(tx)
    waiting ??= claims()
    await waits()
    await write(tx)
  })
  if (waiting === undefined) throw new Error('nothing was claimed')
  return waiting
}

/** Does something while the claim that `take` makes is under way, and commits the claim after that. */
async function during<T>(take: (tx: Queryable) => Promise<T>, work: () => Promise<unknown>): Promise<T> {
  return context.db.transaction(async tx => {
    const taken = await take(tx)
    await work()
    return taken
  })
}

/** Locks the row of the queue as a claim does before it has reached the work. */
const lockEntry = (tx: Queryable, { id }: Session) =>
  tx.query({ text: 'select 1 from queue where session_id = $1 for update skip locked', values: [id] })

describe('the queue', () => {
  it('says of a Run at each step who holds it, and that it is at work', async () => {
    const session = await queued()
    const key = keyOf(session)
    expect(await entries(session)).toEqual(['run - due'])
    const held = await claimed(session)
    expect(await entries(session)).toEqual(['run worker stands at work'])
    const step = (work: (tx: Queryable) => Promise<unknown>) => underFence(context, held, work)
    await step(tx => markRunning(tx, key, held.runId, new Date()))
    await step(tx => markAwaiting(tx, key, held.runId, new Date()))
    expect(await entries(session)).toEqual(['run worker stands'])
    await step(tx => markResumed(tx, key, held.runId, new Date()))
    expect(await entries(session)).toEqual(['run worker stands at work'])
    await lapseClaim(context.db, held)
    expect(await entries(session)).toEqual(['run worker due at work'])
    const [next] = await adopt()
    expect(await entries(session)).toEqual(['run next stands at work'])
    if (next === undefined) throw new Error('nothing was adopted')
    await underFence(context, next, tx =>
      endRun(tx, key, next.runId, { status: 'completed' }, new Date(), { seal: true }),
    )
    expect(await entries(session)).toEqual(['run next stands'])
    await underFence(context, next, tx => releaseFence(tx, key))
    expect(await entries(session)).toEqual([])
    expect(await findMisaligned(context.db, 10)).toEqual([])
  })

  it('is put right by a chore, which says that it had to', async () => {
    const [lost, stale, wrong] = [await queued(), await queued(), await queued()]
    await context.db.query('delete from queue where session_id = $1', [lost.id])
    await context.db.query("update queue set due_at = 'infinity', holder = 'nobody' where session_id = $1", [wrong.id])
    await context.db.query("update runs set status = 'cancelled', ended_at = now() where session_id = $1", [stale.id])
    const warned: unknown[] = []
    const woken: string[] = []
    const chores = claimChores({
      ...context,
      log: { ...context.log, warn: (fields: unknown) => warned.push(fields) } as never,
      wakeups: { ...context.wakeups, publish: (...topics: string[]) => woken.push(...topics) } as never,
    })
    const align = () => chores.find(({ name }) => name === 'align-queue')?.work(new AbortController().signal)
    await align()
    expect([await entries(lost), await entries(stale), await entries(wrong)]).toEqual([
      ['run - due'],
      [],
      ['run - due'],
    ])
    expect([warned, woken.length]).toEqual([[{ sessions: 3 }], 1])
    await align()
    expect(warned).toHaveLength(1)
  })
})

describe('a claim that is under way', () => {
  it('finds a Run cancelled that was cancelled before it took the Run, and takes the entry away', async () => {
    const session = await queued()
    const runId = session.activeRunId ?? ''
    const found = await meanwhile(
      claim,
      tx => lockRun(tx, keyOf(session), runId),
      tx => endRun(tx, keyOf(session), runId, { status: 'cancelled' }, new Date()),
    )
    expect(found).toEqual([])
    expect(await entries(session)).toEqual([])
  })

  it('holds up no cancellation and no archiving that comes before it took the Run', async () => {
    const [one, other] = [await queued(), await queued()]
    await during(
      async tx => [await lockEntry(tx, one), await lockEntry(tx, other)],
      async () => {
        expect((await cancel(one)).status).toBe(200)
        expect((await archive(other)).status).toBe(204)
      },
    )
    expect([await entries(one), await entries(other)]).toEqual([['run - due'], ['run - due']])
    expect(await claim()).toEqual([])
    expect([await entries(one), await entries(other)]).toEqual([[], []])
  })

  it('is followed by a cancellation and an archiving that come after it', async () => {
    const [one, other] = [await queued(), await queued()]
    const following: Promise<unknown>[] = []
    await during(claim, async () => {
      following.push(cancel(one), archive(other))
      await waits()
    })
    await Promise.all(following)
    expect((await runOf(one)).cancellationRequested).toBe(true)
    expect(await entries(one)).toEqual(['run worker stands at work'])
    expect(await entries(other)).toEqual([])
  })

  it('adopts no Run that its holder ends, requeues or begins to seal meanwhile, except for the seal', async () => {
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
      // It is put back for a quarter of a second for each, which must not be over at the look.
      await context.db.query('update runs set attempts = 90 where session_id = $1', [session.id])
      await lapseClaim(context.db, held)
      let adopting: Promise<readonly RunClaim[]> | undefined
      await underFence(context, held, async tx => {
        adopting ??= adopt()
        await waits()
        await write(tx, held)
      })
      const adopted = await adopting
      seen[name] = [adopted?.map(({ token }) => token - held.token), await entries(session)]
    }
    expect(seen).toEqual({
      end: [[], []],
      requeue: [[], ['run - later']],
      seal: [[1], ['run next stands']],
    })
  })

  it('is lapsed after whoever has its row in the queue, and not passed over', async () => {
    const session = await queued()
    const held = await claimed(session)
    let lapsing: Promise<void> | undefined
    await context.db.transaction(async tx => {
      await lockEntry(tx, session)
      lapsing ??= lapseClaim(context.db, held)
      await Promise.race([waits(), lapsing])
    })
    await lapsing
    expect(await entries(session)).toEqual(['run worker due at work'])
  })

  it('leaves nothing in the queue if its holder ends the Run while it is lapsed', async () => {
    const session = await queued()
    const held = await claimed(session)
    let lapsing: Promise<void> | undefined
    await underFence(context, held, async tx => {
      lapsing ??= lapseClaim(context.db, held)
      await waits()
      await endRun(tx, held, held.runId, { status: 'completed' }, new Date())
    })
    await lapsing
    expect(await entries(session)).toEqual([])
  })

  it('takes no workspace whose request its holder carries out meanwhile', async () => {
    const session = await test.api.createSession({ runtime: 'shell' })
    const key = keyOf(session)
    await context.db.query('insert into workspace_requests values ($1, $2, now())', [key.organizationId, key.sessionId])
    await alignedQueue(context.db)
    expect(await entries(session)).toEqual(['workspace - due'])
    const [held] = await claimWorkspaces(context.db, by(), 10)
    if (held === undefined) throw new Error('nothing was claimed')
    expect(await entries(session)).toEqual(['workspace worker stands'])
    await lapseClaim(context.db, held)
    let next: Promise<readonly unknown[]> | undefined
    await underFence(context, held, async tx => {
      next ??= claimWorkspaces(context.db, by('next'), 10)
      await waits()
      await tx.query({ text: 'delete from workspace_requests where session_id = $1', values: [session.id] })
      await releaseFence(tx, key)
    })
    expect(await next).toEqual([])
    expect(await entries(session)).toEqual([])
  })

  it('leaves alone what was claimed from the table of Runs by a process that does not know the queue', async () => {
    const session = await queued()
    const key = keyOf(session)
    const found = await meanwhile(claim, async tx => {
      const values = [key.organizationId, key.sessionId]
      await tx.query({
        text: `update runs set status = 'dispatching', attempts = 1 where organization_id = $1 and session_id = $2`,
        values,
      })
      await tx.query({
        text: `insert into executions (organization_id, session_id, token, task, run_id, attempt, holder, acquired_at,
            heartbeat_at, expires_at)
          select organization_id, session_id, 1, 'run', id, 1, 'before', now(), now(), 'infinity' from runs
          where organization_id = $1 and session_id = $2`,
        values,
      })
    })
    expect(found).toEqual([])
    expect(await entries(session)).toEqual(['run before stands at work'])
  })
})

it('work that is claimed for a time stands there until it is done, and is not taken once it was done meanwhile', async () => {
  const session = await test.api.createSession({ runtime: 'shell' })
  const key = keyOf(session)
  await new WorkerStandIn(test.db.database).attach(session)
  const take = (now: Date) =>
    claimReviews(context.db, { hosts: ['nowhere'], now, until: new Date(now.getTime() + 10_000) }, 10)
  const at = (second: number) => new Date(Date.now() + second * 1000)
  await askForReview(context.db, key)
  expect(await entries(session)).toEqual(['review - due'])
  const [claim] = await take(at(0))
  if (claim === undefined) throw new Error('nothing was claimed')
  expect([await entries(session), await take(at(5))]).toEqual([['review - later'], []])
  expect(await claimedReviews.renew(context.db, claim.claim, at(20))).toBe(true)
  expect(await take(at(15))).toEqual([])
  const found = await meanwhile(
    () => take(at(30)),
    tx => tx.query({ text: 'select 1 from review_requests where session_id = $1 for update', values: [session.id] }),
    tx => answerReview(tx, claim, { failure: 'cloud_review_refused' }),
  )
  expect([found, await entries(session)]).toEqual([[], []])
  await askForReview(context.db, key)
  const [next] = await take(at(0))
  await askForReview(context.db, key)
  if (next === undefined) throw new Error('nothing was claimed')
  await answerReview(context.db, next, { failure: 'cloud_review_refused' })
  // Somebody asked again after the claim.
  expect(await entries(session)).toEqual(['review - due'])
  expect(await findMisaligned(context.db, 10)).toEqual([])
})

it.each([7, 1020, 2033, 3046])(
  'many claims, lapses, ends and cancellations at once lose no Run, hold none twice, and never lock each other: %i',
  async seed => {
    const sessions: Session[] = []
    for (let n = 0; n < 40; n += 1) sessions.push(await queued())
    const owners = new Map<string, string>()
    const ended = new Set<string>()
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
        `select count(*)::integer as count from runs where ended_at is null and session_id = any ($1)`,
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
        ended.add(session.id)
      }
    }
    await Promise.all([...Array.from({ length: 8 }, (_, n) => work(`worker-${n}`)), stop()])
    expect(failures).toEqual([])
    expect(ended.size).toBe(10)
    await adopt()
    expect(await findMisaligned(context.db, 10)).toEqual([])
  },
)

it('is righted for very many Sessions as for few, on a connection that has righted few before', async () => {
  await using db = openDatabase({ connection: test.db.connection, log: silentLog, connections: 1 })
  for (let few = 0; few < 6; few += 1) {
    await queued()
    await test.db.database.query('delete from queue')
    await alignedQueue(db)
  }
  await insertQueuedRuns(test.db.database, [test.tenant.organizationId], 20_000)
  await alignedQueue(db)
  expect(await findMisaligned(db, 10)).toEqual([])
})
