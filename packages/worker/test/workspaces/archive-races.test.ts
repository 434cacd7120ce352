import type { Session } from '@berth/contract'
import { archiveSession } from '@berth/core/sessions/archive-session.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { keyOf, WorkerStandIn } from '@berth/testing/runs/states.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import { until } from '@berth/testing/until.ts'
import { brokenDriver, Gate, Resuming } from '@berth/testing/workspaces/resuming.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { claimWorkspaces } from '../../src/claim/claim-sql.ts'
import type { ExecutionContext } from '../../src/claim/execution-context.ts'
import { Sweeper } from '../../src/host/sweeper.ts'
import { executeRestore } from '../../src/workspace/execute-restore.ts'

/** The API without a worker: each test takes the worker's steps itself, one by one. */
let resuming: Resuming
beforeAll(async () => {
  resuming = await Resuming.open()
})
afterAll(() => resuming[Symbol.asyncDispose]())

const db = () => resuming.test.db.database
const owner = () => {
  const { installationId: id, organizationId } = resuming.test.tenant
  return { kind: 'app_installation', id, organizationId, capabilities: new Set<never>(), expiresAt: null } as const
}

/** Returns everything that is still held for a Session. */
const held = async ({ id }: Session) => {
  const { rows } = await db().query<{ held: string }>(
    `select 'lease' as held from leases where session_id = $1 and ended_at is null
     union all select 'fence' from executions where session_id = $1 and task is not null
     union all select 'request' from workspace_requests where session_id = $1`,
    [id],
  )
  return rows.map(row => row.held)
}

/** A database whose transactions do all of their work and then wait at the gate before they commit. */
const committingAt = (gate: Gate, real: Database): Database => ({
  query: (statement, values) => real.query(statement, values),
  transaction: (work, options) =>
    real.transaction(async tx => {
      const result = await work(tx)
      await gate.pass()
      return result
    }, options),
})

/** Requests the workspace of a Session that never had one; only the test serves the request. */
async function request() {
  const session = await resuming.api.createSession({ runtime: 'shell' })
  const answer = resuming.api.call('PUT', `/v1/sessions/${session.id}/workspace`)
  await until('a request', async () => (await held(session)).includes('request'))
  return { session, answer }
}

const claim = async (context: ExecutionContext) => {
  const now = new Date()
  const by = { holder: 'worker', hosts: [context.host], now, expiresAt: new Date(now.getTime() + 600_000) }
  return (await claimWorkspaces(context.db, by, 1))[0]
}

it('a workspace is not claimed while its session is being archived', async () => {
  await using stack = new AsyncDisposableStack()
  const context = await workerContext(resuming.test, stack)
  const { session, answer } = await request()
  const gate = new Gate()
  gate.shut()
  stack.defer(() => gate.open())
  const archiving = archiveSession(
    { ...context, db: committingAt(gate, context.db) },
    owner(),
    keyOf(session),
    '127.0.0.1',
  )
  await until('an archiving that has not committed', () => gate.waiting === 1)
  expect(await claim(context)).toBeUndefined()
  gate.open()
  await archiving
  expect(outcome(await answer)).toBe('404 cloud_session_not_found')
  expect(await held(session)).toEqual([])
})

it('a worker that holds the fence of an archived session makes no sandbox for it', async () => {
  await using stack = new AsyncDisposableStack()
  let made = 0
  const driver = brokenDriver(real => ({
    create: spec => {
      made += 1
      return real.create(spec)
    },
  }))
  const context = await workerContext(resuming.test, stack, { driver })
  const { session, answer } = await request()
  const claimed = await claim(context)
  if (claimed === undefined) throw new Error('there was nothing to claim')
  // The worker's first transaction reads that the Session is open; only then is the Session archived. The worker keeps
  // the fence, as if the archiving had not seen its claim.
  const late: Database = {
    query: (statement, values) => context.db.query(statement, values),
    transaction: async (work, options) => {
      await archiveSession(context, owner(), keyOf(session), '127.0.0.1')
      await db().query("update executions set task = 'restore' where session_id = $1", [session.id])
      return context.db.transaction(work, options)
    },
  }
  await executeRestore({ ...context, db: late }, claimed, new AbortController().signal)
  expect(outcome(await answer)).toBe('404 cloud_session_not_found')
  expect([await held(session), made]).toEqual([[], 0])
})

it('the sweeper frees a sandbox that an archived session still holds', async () => {
  await using stack = new AsyncDisposableStack()
  const context = await workerContext(resuming.test, stack)
  const session = await resuming.api.createSession({ runtime: 'shell' })
  await new WorkerStandIn(db()).attach(session)
  await db().query('update sessions set archived_at = now() where id = $1', [session.id])
  await db().query(
    `insert into executions (organization_id, session_id, token, task, attempt, holder, acquired_at, heartbeat_at, expires_at)
     values ($1, $2, 1, 'restore', 0, 'elsewhere', now(), now(), now() + interval '1 hour')`,
    [session.organizationId, session.id],
  )
  expect(await held(session)).toEqual(['lease', 'fence'])
  await new Sweeper(context).round()
  expect(await held(session)).toEqual([])
  const { rows } = await db().query('select end_reason from leases where session_id = $1', [session.id])
  expect(rows).toEqual([{ end_reason: 'archived' }])
})

it('the sweeper leaves a sandbox that was prolonged after it was found to be due', async () => {
  await using stack = new AsyncDisposableStack()
  const context = await workerContext(resuming.test, stack)
  const session = await resuming.api.createSession({ runtime: 'shell' })
  await new WorkerStandIn(db()).attach(session)
  const expire = (seconds: number) =>
    db().query("update leases set expires_at = now() + $2 * interval '1 second' where session_id = $1", [
      session.id,
      seconds,
    ])
  await expire(-1)
  const late: Database = {
    query: (statement, values) => context.db.query(statement, values),
    transaction: async (work, options) => {
      await expire(600)
      return context.db.transaction(work, options)
    },
  }
  await new Sweeper({ ...context, db: late }).round()
  expect(await held(session)).toEqual(['lease'])
  await expire(-1)
  await new Sweeper(context).round()
  expect(await held(session)).toEqual([])
})
