import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Session } from '@berth/contract'
import { CrashPoint } from '@berth/testing/faults/crash-point.ts'
import { localRepository } from '@berth/testing/git/local-repository.ts'
import { commitTo, tipOf } from '@berth/testing/git/repositories.ts'
import { claimQueued } from '@berth/testing/runs/claim-queued.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import { workspacePath } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { adoptLapsed } from '../../src/claim/claim-sql.ts'
import type { ExecutionContext } from '../../src/claim/execution-context.ts'
import { executeRun } from '../../src/run-execution.ts'

const stack = new AsyncDisposableStack()
let test: TestService
let context: ExecutionContext
let repository: Awaited<ReturnType<typeof localRepository>>
let baseOid: string
let moved: string
const lines = (...changed: readonly string[]) =>
  Array.from({ length: 20 }, (_, index) => `${changed[index] ?? `line ${index}`}\n`).join('')
beforeAll(async () => {
  test = stack.use(await startTestService({ variables: { BERTH_ROLES: 'api' } }))
  // Nothing here renews a claim: only the test lapses one.
  context = await workerContext(test, stack, { limits: { fenceMs: 600_000, runMs: 600_000, leaseMaxMs: 600_000 } })
  repository = await localRepository(test, 'sample/brought', { file: lines(), gone: 'x\n' })
  baseOid = await tipOf(repository.gitDir, 'main')
  moved = await commitTo(repository.gitDir, 'moved', baseOid, {
    ...{ file: lines(...Array(19), 'theirs'), gone: null, theirs: 'new\n' },
  })
})
afterAll(() => stack.disposeAsync())

const by = (now: Date) => ({
  ...{ holder: 'worker', hosts: [context.host], now },
  expiresAt: new Date(now.getTime() + 600_000),
})

interface Worker {
  readonly world: ExecutionContext
  readonly signal?: AbortSignal
}

async function each<T>(items: readonly T[], work: (item: T, index: number) => Promise<void>): Promise<void> {
  const left = [...items.entries()]
  const next = async () => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await work(one[1], one[0])
  }
  await Promise.all([next(), next(), next(), next()])
}

/** Lets each worker run a Turn that brings commits into a Session of its own, and healthy workers take over. */
async function run(workers: readonly Worker[]): Promise<readonly Session[]> {
  const source = { grantId: repository.grantId, repositoryId: repository.repository.repositoryId }
  const work = 'cd /workspace/project; sed -i "1s/.*/mine/" file; echo mine > mine'
  const sessions = await Promise.all(workers.map(() => test.api.createSession({ runtime: 'shell', source }, work)))
  const first = await claimQueued(context.db, by(new Date()), 100)
  await each(first, claim => executeRun(context, claim, new AbortController().signal))
  for (const { id } of sessions) {
    await test.api.submitTurn(id, 'cd /workspace/project; echo ran >> ran')
    const bring = JSON.stringify([{ kind: 'base', oid: moved }])
    await test.db.database.query('update turns set bring = $2 where session_id = $1 and sequence = 1', [id, bring])
  }
  const claims = await claimQueued(context.db, by(new Date()), 100)
  await each(workers, async ({ world, signal = new AbortController().signal }, index) => {
    const claim = claims.find(({ sessionId }) => sessionId === sessions[index]?.id)
    if (claim === undefined) throw new Error('no claim')
    await executeRun(world, claim, signal)
  })
  await test.db.database.query("update executions set expires_at = 'epoch' where task is not null")
  const left = await adoptLapsed(context.db, by(new Date(Date.now() + 60_000)), 100)
  await each(left, claim => executeRun(context, claim, new AbortController().signal))
  return sessions
}

async function expectMerged(session: Session): Promise<void> {
  const project = await workspacePath(test.db.database, test.dataDir, session, 'project')
  const read = (path: string) => readFile(join(project, path), 'utf8').catch(() => null)
  expect([await read('file'), await read('mine'), await read('theirs'), await read('gone'), await read('ran')]).toEqual(
    [lines('mine', ...Array(18), 'theirs'), ...['mine\n', 'new\n', null, 'ran\n']],
  )
  const events = await test.api.events(session.id)
  expect(events.filter(({ data }) => data['name'] === 'bring')).toHaveLength(1)
  const { rows } = await test.db.database.query(
    `select l.merging as placing, l.brought ->> 'baseOid' as lease, c.brought ->> 'baseOid' as checkpoint
     from leases l join checkpoints c using (organization_id, session_id)
     where l.session_id = $1 and l.ended_at is null order by c.sealed_at desc limit 1`,
    [session.id],
  )
  expect(rows).toEqual([{ placing: null, lease: moved, checkpoint: moved }])
  expect((await test.api.session(session.id)).changes).toMatchObject({ files: 3, additions: 3, deletions: 1 })
}

it('commits come into a workspace once and whole, wherever their worker is killed', async () => {
  const rehearsal = new CrashPoint('restore', 0, 'dies')
  const [calm] = await run([{ world: rehearsal.world(context) }])
  if (calm !== undefined) await expectMerged(calm)
  expect(rehearsal.steps).toContain('run a program')
  const points = rehearsal.steps.map((_, index) => new CrashPoint('restore', index + 1, 'dies'))
  const sessions = await run(points.map(point => ({ world: point.world(context), signal: point.signal })))
  for (const [index, session] of sessions.entries()) {
    expect(points[index]?.struck).toBe(true)
    await expectMerged(session)
  }
})

it('a Run that is cancelled while its commits are placed leaves a whole workspace', async () => {
  const rehearsal = new CrashPoint('restore', 0, 'dies')
  await run([{ world: rehearsal.world(context) }])
  // The program that places it is the last one before the agent.
  const at = rehearsal.steps.lastIndexOf('run a program') + 1
  const point = new CrashPoint('restore', at, 'dies')
  const source = { grantId: repository.grantId, repositoryId: repository.repository.repositoryId }
  const session = await test.api.createSession({ runtime: 'shell', source }, 'cd /workspace/project; echo mine > mine')
  const [first] = await claimQueued(context.db, by(new Date()), 100)
  if (first !== undefined) await executeRun(context, first, new AbortController().signal)
  const { run: made } = await test.api.submitTurn(session.id, 'echo never')
  await test.db.database.query('update turns set bring = $2 where session_id = $1 and sequence = 1', [
    session.id,
    JSON.stringify([{ kind: 'base', oid: moved }]),
  ])
  const [claim] = await claimQueued(context.db, by(new Date()), 100)
  if (claim !== undefined) await executeRun(point.world(context), claim, point.signal)
  expect((await test.api.call('POST', `/v1/sessions/${session.id}/runs/${made.id}/cancel`, {})).status).toBeLessThan(
    300,
  )
  await test.db.database.query("update executions set expires_at = 'epoch' where task is not null")
  const left = await adoptLapsed(context.db, by(new Date(Date.now() + 60_000)), 100)
  await each(left, each => executeRun(context, each, new AbortController().signal))
  expect(await test.api.run(session.id, made.id)).toMatchObject({ status: 'cancelled' })
  const project = await workspacePath(test.db.database, test.dataDir, session, 'project')
  expect(await readFile(join(project, 'theirs'), 'utf8')).toBe('new\n')
  const { rows } = await test.db.database.query(
    `select merging as placing, brought ->> 'baseOid' as base from leases where session_id = $1 and ended_at is null`,
    [session.id],
  )
  expect(rows).toEqual([{ placing: null, base: moved }])
})
