import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Fence, Session } from '@berth/contract'
import type { SandboxDriver } from '@berth/sandboxes/driver.ts'
import { endedRun, outcomeOf, startsOf, typesOf } from '@berth/testing/runs/ended-run.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import { until } from '@berth/testing/until.ts'
import { sandboxProcesses, signalSandbox } from '@berth/testing/workspaces/sandbox-processes.ts'
import { touch, workspacePath } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ExecutionContext } from '../../src/claim/execution-context.ts'
import { Sweeper } from '../../src/host/sweeper.ts'
import { Worker } from '../../src/worker.ts'

let test: TestService
let stack: AsyncDisposableStack
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api' } })
})
afterAll(() => test[Symbol.asyncDispose]())
beforeEach(() => {
  stack = new AsyncDisposableStack()
})
afterEach(() => stack.disposeAsync())

type Options = NonNullable<Parameters<typeof workerContext>[2]>

/** Starts a worker with a sweeper that the test can break. */
async function startWorker(options: Options = {}): Promise<ExecutionContext> {
  const context = await workerContext(test, stack, options)
  for (const service of [new Worker(context), new Sweeper(context)]) await stack.use(service).start()
  return context
}

const never = () => new Promise<never>(() => {})
/** A driver with some of its operations replaced. */
const brokenDriver = (verbs: Partial<SandboxDriver>) => (real: SandboxDriver) => ({ ...real, ...verbs })
const shell = (script: string) => test.api.createSession({ runtime: 'shell' }, script)
const ended = (session: Session, runId = session.activeRunId ?? '') => endedRun(test.api, session, runId)

async function leasesOf(session: Session): Promise<{ id: string; state: string; end_reason: string | null }[]> {
  const { rows } = await test.db.database.query<{ id: string; state: string; end_reason: string | null }>(
    'select id, state, end_reason from leases where organization_id = $1 and session_id = $2 order by created_at',
    [session.organizationId, session.id],
  )
  return rows
}

const go = (session: Session) => touch(test.db.database, test.dataDir, session, 'go')

/** Lapses the claim: its worker learns of it, and another may take over. */
async function lapse(session: Session): Promise<void> {
  await test.db.database.query("update executions set holder = 'gone', expires_at = 'epoch' where session_id = $1", [
    session.id,
  ])
}

describe('a sandbox that cannot be made', () => {
  it.each([
    ['in time, and cannot be destroyed either', { create: never, destroy: never }],
    ['at all', { create: async () => Promise.reject(new Error('no room')) }],
  ])('%s ends the run after a bounded number of attempts that never began', async (_, verbs) => {
    // Nothing wakes the worker when the Run may start again.
    const quiet = { fenceMs: 2_400_000, pollMs: 2_400_000 }
    // bound: it is to be over
    await startWorker({ driver: brokenDriver(verbs), limits: { provisionMs: 100, ...quiet } })
    const session = await shell('true')
    const run = await ended(session)
    expect(outcomeOf(run)).toBe('crashed engine_unreachable turn_execution_lost 3')
    expect(typesOf(run)).toEqual(['run.crashed'])
    expect(await leasesOf(session)).toMatchObject(Array(3).fill({ state: 'ended', end_reason: 'abandoned' }))
    // There was no workspace, so the log has no end of one, and another turn is possible.
    expect(await test.api.session(session.id)).toMatchObject({
      workspace: { state: 'unavailable', expiresAt: null },
      continuation: { canContinue: true, state: 'fresh' },
    })
  })

  it('because bubblewrap hangs leaves no process behind', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'berth-bwrap-'))
    stack.defer(() => rm(directory, { recursive: true, force: true }))
    const bwrap = join(directory, 'bwrap')
    await writeFile(bwrap, '#!/bin/sh\n[ "$1" = --help ] && exit 0\nexec sleep 600\n')
    await chmod(bwrap, 0o755)
    // bound: it is to be over
    await startWorker({ bwrap, limits: { provisionMs: 300, maxAttempts: 1 } })
    const session = await shell('true')
    expect(outcomeOf(await ended(session))).toBe('crashed engine_unreachable turn_execution_lost 1')
    const [lease] = await leasesOf(session)
    await until('an empty sandbox', async () => (await sandboxProcesses(test.dataDir, lease?.id ?? '')).length === 0)
    await until('no trace of it', async () => !(await readdir(join(test.dataDir, 'leases'))).includes(lease?.id ?? ''))
  })

  it('may be left half made by a worker that dies, and another one is made', async () => {
    await startWorker({ driver: brokenDriver({ create: never }), limits: { provisionMs: 600_000 } })
    const session = await shell('echo done')
    await until('a lease', async () => (await leasesOf(session)).length === 1)
    await stack.disposeAsync()
    stack = new AsyncDisposableStack()
    await startWorker()
    const run = await ended(session)
    expect(outcomeOf(run)).toBe('completed completed - 1')
    expect(await leasesOf(session)).toMatchObject([{ end_reason: 'abandoned' }, { state: 'attached' }])
  })

  it('does not prevent the cancellation of a run', async () => {
    await startWorker({
      driver: brokenDriver({ create: () => Promise.reject(new Error('no room')) }),
      limits: { maxAttempts: 1e6 },
    })
    const session = await shell('true')
    await until('some attempts', async () => (await leasesOf(session)).length > 1)
    await test.api.call('POST', `/v1/sessions/${session.id}/runs/${session.activeRunId}/cancel`)
    expect((await ended(session)).run).toMatchObject({ status: 'cancelled', stopReason: 'aborted' })
  })
})

describe('a run that breaks every worker', () => {
  it('ends after a bounded number of workers', async () => {
    const session = await shell('true')
    await test.db.database.query('delete from turns where session_id = $1', [session.id])
    await startWorker({ limits: { maxHandovers: 3 } })
    const run = await ended(session)
    expect(outcomeOf(run)).toBe('crashed engine_unreachable turn_execution_lost 1')
    const { rows } = await test.db.database.query('select token from executions where session_id = $1', [session.id])
    expect(rows).toEqual([{ token: 5 }])
  })

  it('delays no other run', async () => {
    const poison = await shell('true')
    await test.db.database.query('delete from turns where session_id = $1', [poison.id])
    await startWorker({ limits: { concurrency: 1 } })
    expect(outcomeOf(await ended(await shell('true')))).toBe('completed completed - 1')
    expect((await ended(poison)).run.status).toBe('crashed')
  })
})

describe('a run whose worker lost its claim but whose agent works on', () => {
  it('is over, and its agent ends before the next run starts', async () => {
    await startWorker()
    const session = await shell('while sleep 0.02; do echo >> ticks; done')
    await until('work', async () => {
      return existsSync(await workspacePath(test.db.database, test.dataDir, session, 'ticks').catch(() => ''))
    })
    // From here on, reading the run fails every worker.
    await test.db.database.query('delete from turns where session_id = $1', [session.id])
    await lapse(session)
    expect(outcomeOf(await ended(session))).toBe('crashed engine_unreachable turn_execution_lost 1')
    const { run } = await test.api.submitTurn(
      session.id,
      'before=$(wc -l < ticks); sleep 0.2; [ $(wc -l < ticks) = $before ]',
    )
    expect(outcomeOf(await ended(session, run.id))).toBe('completed completed - 1')
  })
})

describe('leases and sandboxes', () => {
  // A worker whose claim lapses on a busy machine makes another sandbox.
  const held = async (session: Session) =>
    (await leasesOf(session)).filter(({ end_reason: reason }) => reason !== 'abandoned')
  const expired = async (session: Session) => {
    await until('the end of the lease', async () => (await held(session))[0]?.state === 'ended')
    const [lease] = await held(session)
    await until('the end of the sandbox', async () => {
      return !(await readdir(join(test.dataDir, 'leases'))).includes(lease?.id ?? '')
    })
    return lease
  }

  it('an idle one expires and is destroyed, and the log says so', async () => {
    // bound: it is to be over
    await startWorker({ limits: { leaseIdleMs: 200 } })
    const session = await shell('true')
    await ended(session)
    const lease = await expired(session)
    expect(lease).toMatchObject({ end_reason: 'expired' })
    const last = (await test.api.events(session.id)).at(-1)
    expect(last).toMatchObject({ type: 'svc.workspace.expired', data: { leaseId: lease?.id } })
    expect(last?.subject).toEqual({ sessionId: session.id })
    const { workspace } = await test.api.session(session.id)
    expect(workspace).toMatchObject({ state: 'expired' })
    expect(Date.parse(workspace.expiresAt ?? '')).toBeLessThanOrEqual(Date.parse(String(last?.data['expiredAt'])))
    expect(await sandboxProcesses(test.dataDir, lease?.id ?? '')).toEqual([])
  })

  it('one with a run does not expire, however long the run takes', async () => {
    // bound: it is to be over
    await startWorker({ limits: { leaseIdleMs: 50 } })
    const session = await shell('while [ ! -e go ]; do sleep 0.02; done; echo went')
    await until('an overdue lease', async () => {
      const { expiresAt } = (await test.api.session(session.id)).workspace
      return expiresAt !== null && Date.parse(expiresAt) < Date.now()
    })
    await go(session)
    expect(outcomeOf(await ended(session))).toBe('completed completed - 1')
  })

  it('a sandbox that dies while idle expires', async () => {
    await startWorker()
    const session = await shell('true')
    await ended(session)
    await until('a sealed run', async () => (await test.api.session(session.id)).phase === 'idle')
    const [lease] = await leasesOf(session)
    await signalSandbox(test.dataDir, lease?.id ?? '', 'SIGKILL')
    expect(await expired(session)).toMatchObject({ end_reason: 'lost' })
    expect(await test.api.session(session.id)).toMatchObject({
      workspace: { state: 'expired' },
      continuation: { canContinue: true, state: 'restorable' },
    })
  })

  it('a sandbox without a lease is destroyed, and one that cannot be destroyed does not protect the others', async () => {
    const stuck = crypto.randomUUID()
    const stray = crypto.randomUUID()
    let real: SandboxDriver | undefined
    const context = await workerContext(test, stack, {
      driver: driver => {
        real = driver
        return brokenDriver({
          destroy: id => (id === stuck ? never() : driver.destroy(id)),
          list: async () => [stuck, ...(await driver.list())],
        })(driver)
      },
    })
    const { bounds } = context
    await real?.create({ leaseId: stray, command: ['sleep', '600'], bounds, mounts: [], egress: { reach: [] } })
    expect(await sandboxProcesses(test.dataDir, stray)).not.toEqual([])
    const sweeper = new Sweeper(context)
    await sweeper.round()
    await until('the end of the stray', async () => !(await context.driver.list()).includes(stray))
    expect(await sandboxProcesses(test.dataDir, stray)).toEqual([])
  })
})

describe('claims', () => {
  const fenceOf = async (session: Session) =>
    (await test.api.get<{ fence: Fence | null }>(`/v1/sessions/${session.id}/fence`)).body.fence
  const running = (session: Session) =>
    until('a running run', async () => (await test.api.session(session.id)).phase === 'running')

  it('of a worker that was away too long are lost to it, and the run continues', async () => {
    const context = await startWorker()
    const session = await shell('while [ ! -e go ]; do sleep 0.02; done; echo went')
    await running(session)
    const before = await fenceOf(session)
    await stack.use(new Worker(context)).start()
    await lapse(session)
    const after = await until('a takeover', async () => {
      const fence = await fenceOf(session)
      return fence !== null && fence.token !== before?.token && fence
    })
    expect(after).toMatchObject({ runId: before?.runId, attempt: 1, token: (before?.token ?? 0) + 1 })
    await go(session)
    const run = await ended(session)
    expect(outcomeOf(run)).toBe('completed completed - 1')
    expect(startsOf(run)).toHaveLength(1)
    expect(await fenceOf(session)).toBeNull()
  })

  it('are released at once by a worker that stops, and the agent continues', async () => {
    await startWorker({ limits: { fenceMs: 600_000 } })
    const session = await shell('while [ ! -e go ]; do sleep 0.02; done; echo went')
    await running(session)
    await stack.disposeAsync()
    stack = new AsyncDisposableStack()
    await go(session)
    await startWorker({ limits: { fenceMs: 600_000 } })
    const run = await ended(session)
    expect(outcomeOf(run)).toBe('completed completed - 1')
    expect(startsOf(run)).toHaveLength(1)
  })

  it('are as many as a worker may hold, the oldest runs first', async () => {
    await startWorker({ limits: { concurrency: 1 } })
    const sessions: Session[] = []
    for (let n = 0; n < 4; n += 1) sessions.push(await shell('true'))
    const runs = await Promise.all(sessions.map(session => ended(session)))
    const times = runs.flatMap(({ run }) => [run.startedAt ?? '', run.endedAt ?? ''])
    expect(times).toEqual(times.toSorted())
  })
})
