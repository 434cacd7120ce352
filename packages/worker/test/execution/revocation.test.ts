import { randomUUID } from 'node:crypto'
import type { Session } from '@berth/contract'
import { findUnauthorizedRuns } from '@berth/core/sessions/runs/authority-sql.ts'
import { AuthoritySweeper } from '@berth/core/sessions/runs/authority-sweeper.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { openDatabase } from '@berth/platform/storage/postgres/pool.ts'
import { nativeStandIn } from '@berth/testing/agents/scripted-runtimes.ts'
import type { Api } from '@berth/testing/api/api.ts'
import type { Tenant } from '@berth/testing/api/tenant.ts'
import { endRows, revokedEnd, toolDone } from '@berth/testing/runs/end-rows.ts'
import { silentLog } from '@berth/testing/services/log.ts'
import { databaseUrl, shortFence } from '@berth/testing/services/service.ts'
import { startServiceProcess } from '@berth/testing/services/service-process.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import { until } from '@berth/testing/until.ts'
import { brokenDriver, Gate, Resuming, type WorkerOptions } from '@berth/testing/workspaces/resuming.ts'
import { leaseOf, touch } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Sweeper } from '../../src/host/sweeper.ts'
import { Worker } from '../../src/worker.ts'

/** The API without a worker; each test starts its own workers. */
let resuming: Resuming
let stack: AsyncDisposableStack
let at: { tenant: Tenant; api: Api }
beforeAll(async () => {
  resuming = await Resuming.open()
})
afterAll(() => resuming[Symbol.asyncDispose]())
beforeEach(async () => {
  stack = new AsyncDisposableStack()
  at = await resuming.test.newTenant()
})
afterEach(() => stack.disposeAsync())

const db = () => resuming.test.db.database

/**
 * Starts a worker with an agent in the native one's place. Its grace for cancellations exceeds the deadlines of these
 * tests.
 */
async function work({ limits, ...options }: WorkerOptions = {}) {
  const native = stack.use(await nativeStandIn())
  // bound: a pause between two looks
  const more = { ...options, runtimes: [native.entry], limits: { cancelGraceMs: 600_000, pulseMs: 250, ...limits } }
  const context = { ...(await workerContext(resuming.test, stack, more)), defaultModel: 'any' }
  for (const service of [new Worker(context), new Sweeper(context)]) await stack.use(service).start()
  return context
}

const begin = (script: string, body: { runtime?: string } = {}) => at.api.createSession(body, script)
const revoke = () => db().query('update installations set revoked_at = now() where id = $1', [at.tenant.installationId])

/** The key can no longer read anything, so read the rows. */
const rowsOf = async <Row extends object>(text: string, session: Session) =>
  (await db().query<Row>(text, [session.id])).rows
const statusOf = async (session: Session) =>
  (await rowsOf<{ status: string }>('select status from runs where session_id = $1', session))[0]?.status
const reached = (session: Session, status: string) =>
  until(`a run that is ${status}`, async () => (await statusOf(session)) === status)
const did = (session: Session, title: string) => toolDone(db(), session, title)
const end = (session: Session) => endRows(db(), session)

const ask = `ask ${JSON.stringify({ message: 'Which?', requestedSchema: { properties: { a: { type: 'string' } } } })}`
const revoked = revokedEnd
const neverBegun = {
  ...revoked,
  ended: 'failed error authority_revoked_dispatch',
  terminal: ['authority_revoked_dispatch'],
  sealed: 0,
}
const closed = { ...revoked, resolutions: ['authority_revoked'] }

describe('a run whose installation is revoked', () => {
  it('is stopped and sealed while it works', async () => {
    await work()
    const session = await begin('tool here\nhang')
    await did(session, 'here')
    await revoke()
    expect(await end(session)).toEqual(revoked)
  })

  it.each([
    ['its organization is suspended', 'update organizations set suspended_at = $2 where id = $1'],
    [
      'the installation loses product access',
      `update installations set capabilities = array_remove(capabilities, 'svc.cloud.access')
       where organization_id = $1 and $2::timestamptz is not null`,
    ],
  ])('is stopped and sealed when %s', async (_, statement) => {
    await work()
    const session = await begin('tool here\nhang')
    await did(session, 'here')
    await db().query(statement, [session.organizationId, new Date()])
    expect(await end(session)).toEqual(revoked)
  })

  it('is stopped even if its agent would rather continue, whatever the grace for cancellations', async () => {
    await work()
    const session = await begin('tool here\nignore-cancel\nhang')
    await did(session, 'here')
    await revoke()
    expect(await end(session)).toEqual(revoked)
  })

  it('is stopped by the next worker if its own is killed in between', async () => {
    const first = stack.use(
      await startServiceProcess({
        BERTH_ROLES: 'worker',
        ...shortFence,
        BERTH_SANDBOX_MEMORY_BYTES: String(512 * 1024 ** 2),
        BERTH_SANDBOX_DISK_BYTES: String(256 * 1024 ** 2),
        BERTH_DATA_DIR: resuming.test.dataDir,
        DATABASE_URL: databaseUrl(resuming.test.db),
      }),
    )
    const session = await begin('echo here; sleep 600', { runtime: 'shell' })
    await reached(session, 'running')
    await first.kill('SIGKILL')
    await revoke()
    const cancelling = 'select 1 from runs where session_id = $1 and cancel_requested_at is not null'
    await until('a request to stop', async () => (await rowsOf(cancelling, session)).length === 1)
    await work()
    expect(await end(session)).toEqual(revoked)
  })

  it('reports it even if its agent failed first, as when a gateway refuses it', async () => {
    await work()
    const session = await begin('tool here\nwait /workspace/go\nerror no model answers')
    await did(session, 'here')
    await revoke()
    await touch(db(), resuming.test.dataDir, session, 'go')
    expect(await end(session)).toEqual(revoked)
  })

  it('is released and sealed while it waits for an answer that nobody can give any more', async () => {
    await work()
    const session = await begin(ask)
    await reached(session, 'awaiting')
    await revoke()
    expect(await end(session)).toEqual(closed)
  })

  it('is denied the permission that it asks for', async () => {
    await work()
    const session = await begin('permission deploy')
    const open = "select 1 from interactions where session_id = $1 and status = 'open'"
    await until('an approval', async () => (await rowsOf(open, session)).length === 1)
    await revoke()
    expect(await end(session)).toEqual(closed)
  })

  it('ends while it is parked and does not resume', async () => {
    // bound: the Run is to be parked at once
    await work({ limits: { parkMs: 1 } })
    const session = await begin(ask)
    const live = 'select 1 from leases where session_id = $1 and ended_at is null'
    await until('a parked run', async () => {
      return (await statusOf(session)) === 'awaiting' && (await rowsOf(live, session)).length === 0
    })
    await revoke()
    expect(await end(session)).toEqual(closed)
    expect(await rowsOf('select 1 from leases where session_id = $1', session)).toHaveLength(1)
  })

  it('never begins while it waits for a worker', async () => {
    const session = await begin('say never')
    await revoke()
    expect(await end(session)).toEqual(neverBegun)
  })

  it('ends even if another run cannot be ended because its session is locked', async () => {
    const sessions = [await begin('say never'), await begin('say never')]
    // Only a wait for a lock is cut short: any other statement may be slow on a busy machine.
    const connection = Object.assign({ options: '-c lock_timeout=200' }, resuming.test.db.connection)
    const impatient = stack.use(openDatabase({ connection, log: silentLog }))
    const sweeper = new AuthoritySweeper({ ...(await workerContext(resuming.test, stack)), db: impatient })
    const unlock = new Map<string, () => Promise<void>>()
    for (const { id } of sessions) {
      const [held, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const locked = db().transaction(async tx => {
        await tx.query('select 1 from sessions where id = $1 for update', [id])
        held.resolve()
        await free.promise
      })
      await held.promise
      unlock.set(id, () => {
        free.resolve()
        return locked
      })
      stack.defer(() => free.resolve())
    }
    await revoke()
    const [first] = await findUnauthorizedRuns(db(), 10)
    const other = sessions.find(({ id }) => id !== first?.sessionId)
    if (first === undefined || other === undefined) throw new Error('a pass would find nothing')
    await unlock.get(other.id)?.()
    await expect(sweeper.round()).rejects.toThrow(DatabaseUnavailable)
    expect(await statusOf(other)).toBe('failed')
    await unlock.get(first.sessionId)?.()
    for (const session of sessions) expect(await end(session)).toEqual(neverBegun)
  })

  it('never begins while its sandbox is being made, and the sandbox is destroyed', async () => {
    const gate = new Gate()
    gate.shut()
    stack.defer(() => gate.open())
    const driver = brokenDriver(real => ({
      create: async spec => {
        await real.create(spec)
        await gate.pass()
      },
    }))
    const context = await work({ driver })
    const session = await begin('say never')
    await until('a sandbox', () => gate.waiting === 1)
    await revoke()
    expect(await end(session)).toEqual(neverBegun)
    const lease = await leaseOf(db(), session)
    gate.open()
    await until('that no sandbox is left', async () => !(await context.driver.list()).includes(lease))
  })

  it('stays completed if it completed before anybody could stop it', async () => {
    await work()
    const session = await begin('say done')
    expect(await end(session)).toMatchObject({ ended: 'completed completed', sealed: 1 })
    await revoke()
    expect(await end(session)).toMatchObject({ terminal: [undefined] })
  })
})

describe('a member who leaves the organization', () => {
  /** Makes a person the author of the Session's Turns. */
  async function author(session: Session): Promise<string> {
    const person = randomUUID()
    await db().query(
      `insert into people (id, email, name, password_hash, created_at) values ($1, $2, 'P', 'x', now())`,
      [person, `${person}@localhost`],
    )
    await db().query(
      "insert into memberships (id, organization_id, person_id, role, created_at) values (gen_random_uuid(), $1, $2, 'member', now())",
      [session.organizationId, person],
    )
    await db().query("update turns set author_kind = 'person', author_id = $2 where session_id = $1", [
      session.id,
      person,
    ])
    return person
  }
  it('keeps their queued runs if they have come back', async () => {
    const session = await begin('say done')
    const person = await author(session)
    await db().transaction(async tx => {
      await tx.query('update memberships set revoked_at = now() where person_id = $1', [person])
      await tx.query(
        `insert into memberships (id, organization_id, person_id, role, created_at)
         values (gen_random_uuid(), $1, $2, 'member', now())`,
        [session.organizationId, person],
      )
    })
    await work()
    expect((await end(session)).ended).toBe('completed completed')
  })

  const leave = (person: string) =>
    db().query('update memberships set revoked_at = now() where person_id = $1', [person])

  it('ends the queued runs of the member and leaves the active ones to the organization', async () => {
    const queued = await begin('say never')
    await leave(await author(queued))
    expect(await end(queued)).toEqual(neverBegun)
    await work()
    const running = await begin('tool here\nwait /workspace/go')
    const person = await author(running)
    await did(running, 'here')
    await leave(person)
    const later = await begin('say never')
    await leave(await author(later))
    expect((await end(later)).ended).toMatch(/^(failed error authority_revoked_dispatch|completed completed)$/)
    await touch(db(), resuming.test.dataDir, running, 'go')
    expect((await end(running)).ended).toBe('completed completed')
  })
})
