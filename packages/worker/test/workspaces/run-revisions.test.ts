import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Event, Review, Session } from '@berth/contract'
import { dropSupersededPacks } from '@berth/core/sessions/purge/drop-packs.ts'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { sessionOnRepository } from '@berth/testing/console/reviewed-session.ts'
import { CrashPoint } from '@berth/testing/faults/crash-point.ts'
import type { Delivering } from '@berth/testing/git/delivering.ts'
import { localRepository } from '@berth/testing/git/local-repository.ts'
import { claimQueued } from '@berth/testing/runs/claim-queued.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { adoptLapsed } from '../../src/claim/claim-sql.ts'
import type { ExecutionContext } from '../../src/claim/execution-context.ts'
import { executeRun } from '../../src/run-execution.ts'

type Log = readonly Event[]
const revisionsIn = (events: Log) => events.filter(({ type }) => type === 'svc.revision.created')
const omissionsIn = (events: Log) => events.filter(({ data }) => data['kind'] === 'revision')

describe('a Run that ends', () => {
  let test: TestService
  let count = 0
  beforeAll(async () => {
    test = await startTestService()
  })
  afterAll(() => test[Symbol.asyncDispose]())

  const begin = () => sessionOnRepository(test, `sample/revised-${++count}`)
  const logOf = (at: Delivering): Promise<Log> => test.api.events(at.session.id)
  const stored = (at: Delivering, revision: unknown) =>
    test.api.get<{ review: Review }>(at.path(`/repository/review?revision=${revision}`))

  it('with other files than it began with leaves one revision, which is read for ever without a sandbox', async () => {
    const at = await begin()
    expect(revisionsIn(await logOf(at))).toEqual([])
    expect(await test.api.session(at.session.id)).toMatchObject({ changes: null, status: 'done' })
    const { run } = await test.api.submitTurn(at.session.id, 'printf "a\\nb\\n" > new; rm README.md')
    await test.api.runEnded(at.session.id, run.id)
    await at.shell('true')
    expect(await test.api.run(at.session.id, run.id)).toMatchObject({ time: { sealMs: expect.any(Number) } })
    const [created, ...more] = revisionsIn(await logOf(at))
    expect(more).toEqual([])
    const { revision, files, additions, deletions } = created?.data ?? {}
    expect(created).toMatchObject({
      visibility: 'public',
      data: { runId: run.id, baseOid: at.baseOid, targetBranch: 'main' },
    })
    expect(created?.subject).toEqual({ sessionId: at.session.id })
    const session = await test.api.session(at.session.id)
    expect(session).toMatchObject({ status: 'ready_to_review', changes: { revision, files, additions, deletions } })
    expect((await at.review()).revision).toBe(revision)

    expect((await test.api.call('DELETE', at.path('/workspace'))).status).toBe(204)
    expect(outcome(await test.api.get(at.path('/repository/review')))).toBe('409 cloud_workspace_expired')
    const { body } = await stored(at, revision)
    expect(body.review).toMatchObject({ revision, additions, deletions, headTree: created?.data['headTree'] })
    expect([body.review.files.length, files, additions, deletions]).toEqual([2, 2, 2, 5])
    expect(body.review.patch).toContain('+a\n+b\n')
    expect((await test.api.call('DELETE', at.path(''))).status).toBe(204)
    expect((await stored(at, revision)).body.review.revision).toBe(revision)
    expect(outcome(await stored(at, '0'.repeat(64)))).toBe('404 cloud_session_not_found')
  })

  it('with the tree of the Run before tells of none, and of an empty one once the changes are gone', async () => {
    const at = await begin()
    await at.shell('printf x > new')
    await at.shell('git add -A; git -c user.name=a -c user.email=a@b commit -qm agent')
    await at.shell('touch new; printf y > .git/y')
    const before = revisionsIn(await logOf(at))
    expect(before).toMatchObject([{ data: { files: 1, additions: 1, deletions: 0 } }])
    await at.shell('rm new')
    const [, gone, ...more] = revisionsIn(await logOf(at))
    expect([gone?.data, more]).toMatchObject([{ files: 0, additions: 0, deletions: 0 }, []])
    expect(await test.api.session(at.session.id)).toMatchObject({ status: 'done', changes: { files: 0 } })
    await at.shell('printf x > new')
    expect(revisionsIn(await logOf(at))[2]?.data['revision']).toBe(before[0]?.data['revision'])
    expect(await test.api.session(at.session.id)).toMatchObject({ status: 'ready_to_review', changes: { files: 1 } })
  })

  it('tells of changes that somebody reviewed before its end', async () => {
    const at = await begin()
    await writeFile(join(at.project, 'new'), 'x')
    const { revision } = await at.review()
    expect(revisionsIn(await logOf(at))).toEqual([])
    expect(await test.api.session(at.session.id)).toMatchObject({ changes: { revision, files: 1 } })
    await at.shell('true')
    expect(revisionsIn(await logOf(at))).toMatchObject([{ data: { revision } }])
  })

  it('tells again of the tree that it told last, once somebody has reviewed another', async () => {
    const at = await begin()
    await at.shell('printf x > new')
    await writeFile(join(at.project, 'other'), 'y')
    await at.review()
    await at.shell('rm other')
    const [first, second, ...more] = revisionsIn(await logOf(at))
    expect([second?.data['revision'], more]).toEqual([first?.data['revision'], []])
    expect(await test.api.session(at.session.id)).toMatchObject({ changes: { revision: first?.data['revision'] } })
  })

  it('keeps the objects of the newest, and gives up those of the ones before, which are read as they were', async () => {
    const at = await begin()
    await at.shell('printf x > new')
    await at.shell('printf y > new')
    const [first = '', second = ''] = revisionsIn(await logOf(at)).map(({ data }) => String(data['revision']))
    const { database } = test.db
    const packs = async () => {
      const text = 'select revision, pack_sha256 is not null as held from reviews where session_id = $1'
      const { rows } = await database.query<{ revision: string; held: boolean }>(text, [at.session.id])
      return Object.fromEntries(rows.map(({ revision, held }) => [revision, held]))
    }
    const drop = (before: Date) =>
      dropSupersededPacks({ db: database, clock: systemClock }, before, new AbortController().signal)
    expect(await drop(new Date(0))).toBe(0)
    expect(await packs()).toEqual({ [first]: true, [second]: true })
    const later = new Date(Date.now() + 60_000)
    expect(await drop(later)).toBeGreaterThan(0)
    expect(await packs()).toEqual({ [first]: false, [second]: true })
    expect((await stored(at, first)).body.review.patch).toContain('+x')
    expect((await at.put(randomUUID(), { title: 'Change it', revision: first })).status).toBe(400)
    // The tree comes back, and with it what delivers it.
    await at.shell('printf x > new')
    expect(await packs()).toEqual({ [first]: true, [second]: true })
    expect((await at.publish({ revision: first })).status).toBe('succeeded')
    await at.shell('printf z > new')
    await drop(later)
    expect(await packs()).toMatchObject({ [first]: true, [second]: false })
  })

  it('keeps its outcome and its checkpoint if the changes are refused, and says why', async () => {
    const at = await begin()
    await at.shell(`printf 'x' > new.bad; printf '*.bad working-tree-encoding=UTF-99\\n' > .gitattributes`)
    const events = await logOf(at)
    expect(revisionsIn(events)).toEqual([])
    const [omitted, ...more] = omissionsIn(events)
    expect(more).toEqual([])
    expect(omitted).toMatchObject({
      type: 'svc.artifact.omitted',
      data: { reason: expect.stringContaining('new.bad') },
    })
    expect(outcome(await test.api.get(at.path('/repository/review')))).toBe('409 cloud_review_refused')
    expect((await test.api.call('DELETE', at.path('/workspace'))).status).toBe(204)
    expect((await test.api.session(at.session.id)).continuation.state).toBe('restorable')
    await at.shell('rm .gitattributes')
    expect(revisionsIn(await logOf(at))).toMatchObject([{ data: { files: 1 } }])
  })
})

describe('the worker of a Run that ends', () => {
  const stack = new AsyncDisposableStack()
  let test: TestService
  let context: ExecutionContext
  let repository: Awaited<ReturnType<typeof localRepository>>
  beforeAll(async () => {
    test = stack.use(await startTestService({ variables: { BERTH_ROLES: 'api' } }))
    // Nothing here renews a claim: only the test lapses one.
    context = await workerContext(test, stack, { limits: { fenceMs: 600_000, runMs: 600_000, leaseMaxMs: 600_000 } })
    repository = await localRepository(test, 'sample/crashed')
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

  /** Lets each worker run a Turn that changes a file, in a Session of its own, and healthy workers take over. */
  async function run(workers: readonly Worker[]): Promise<readonly Session[]> {
    const source = { grantId: repository.grantId, repositoryId: repository.repository.repositoryId }
    const begin = () => test.api.createSession({ runtime: 'shell', source }, `echo ${randomUUID()} > new`)
    const sessions = await Promise.all(workers.map(begin))
    const claims = await claimQueued(context.db, by(new Date()), 100)
    await each([...workers.entries()], async ([index, { world, signal = new AbortController().signal }]) => {
      const claim = claims.find(({ sessionId }) => sessionId === sessions[index]?.id)
      if (claim === undefined) throw new Error('no claim')
      await executeRun(world, claim, signal)
    })
    await test.db.database.query("update executions set expires_at = 'epoch' where task is not null")
    const left = await adoptLapsed(context.db, by(new Date(Date.now() + 60_000)), 100)
    await each(left, claim => executeRun(context, claim, new AbortController().signal))
    return Promise.all(sessions.map(({ id }) => test.api.session(id)))
  }

  /** Works at four sandboxes at once. */
  async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
    const left = [...items]
    const next = async () => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item)
    }
    await Promise.all([next(), next(), next(), next()])
  }

  it('leaves nothing half made if it is killed at any step, and its successor makes one revision', async () => {
    const rehearsal = new CrashPoint('seal', 0, 'dies')
    await run([{ world: rehearsal.world(context) }])
    expect(rehearsal.steps.filter(step => step === 'run a program').length).toBeGreaterThan(1)
    const points = rehearsal.steps.map((_, index) => new CrashPoint('seal', index + 1, 'dies'))
    const sessions = await run(points.map(point => ({ world: point.world(context), signal: point.signal })))
    for (const [index, session] of sessions.entries()) {
      const { steps, struck } = points[index] ?? rehearsal
      expect([struck, session]).toMatchObject([true, { phase: 'idle', status: 'ready_to_review' }])
      const events = await test.api.events(session.id)
      expect([steps, revisionsIn(events).map(({ data }) => data), omissionsIn(events)]).toMatchObject([
        expect.anything(),
        [session.changes],
        [],
      ])
    }
    const { rows } = await test.db.database.query<{ session_id: string }>(
      'select session_id from reviews where files_sha256 is not null',
    )
    expect(rows.map(row => row.session_id)).toEqual(expect.arrayContaining(sessions.map(({ id }) => id)))
    const { rows: half } = await test.db.database.query('select from reviews where files_sha256 is null')
    expect(half).toEqual([])
  })

  it('ends and seals it although its repository cannot be read', async () => {
    const mirror = () => Promise.reject(new Error('away'))
    const [session] = await run([{ world: { ...context, sources: { ...context.sources, mirror } } }])
    const events = await test.api.events(session?.id ?? '')
    const ends = events.filter(({ type }) => type === 'svc.run.completed')
    expect([ends.length, revisionsIn(events), omissionsIn(events).length]).toEqual([1, [], 1])
    expect(session).toMatchObject({ phase: 'idle', status: 'done', changes: null })
    const { rows } = await test.db.database.query('select from checkpoints where session_id = $1', [session?.id])
    expect(rows).toHaveLength(1)
  })
})
