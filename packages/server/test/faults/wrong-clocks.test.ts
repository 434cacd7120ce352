import { randomBytes, randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Fence, Interaction, Session } from '@berth/contract'
import { PeriodicTasks } from '@berth/platform/kit/periodic-tasks.ts'
import { credentialDigest } from '@berth/platform/storage/master-key.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import { ClockKeeper } from '@berth/platform/storage/postgres/database-clock.ts'
import { CloudClient } from '@berth/testing/accounts/client.ts'
import { scriptedRuntimes } from '@berth/testing/agents/scripted-runtimes.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createTenant, type Tenant } from '@berth/testing/api/tenant.ts'
import { ConsolePage, password, personWithPassword } from '@berth/testing/console/console-page.ts'
import { destroySandboxes } from '@berth/testing/faults/destroy-sandboxes.ts'
import { JumpingClock } from '@berth/testing/faults/jumping-clock.ts'
import { runDirectory } from '@berth/testing/leaks/run-directory.ts'
import { endedRun, outcomeOf, startsOf } from '@berth/testing/runs/ended-run.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { silentLog } from '@berth/testing/services/log.ts'
import {
  databaseUrl,
  shortFence,
  startTestService,
  type TestService,
  testVariables,
} from '@berth/testing/services/service.ts'
import { type ServiceProcess, startServiceProcess } from '@berth/testing/services/service-process.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { until } from '@berth/testing/until.ts'
import { touch } from '@berth/testing/workspaces/workspace.ts'
import { Worker } from '@berth/worker/worker.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const HOUR_MS = 3_600_000
/** Far from any error that a loaded machine makes, and from an hour. */
const MINUTES_MS = 5 * 60_000

const wrong = [
  ['ahead', HOUR_MS],
  ['behind', -HOUR_MS],
] as const

describe.each(wrong)('a service on a machine whose clock is an hour %s', (_, offMs) => {
  const stack = new AsyncDisposableStack()
  let db: TestDatabase
  let tenant: Tenant
  let service: ServiceProcess
  let api: Api
  beforeAll(async () => {
    db = stack.use(await createTestDatabase())
    const dataDir = await runDirectory('clocks')
    stack.defer(() => rm(dataDir, { recursive: true, force: true }))
    stack.defer(() => destroySandboxes(dataDir))
    const { runtimes } = stack.use(await scriptedRuntimes())
    await writeFile(join(dataDir, 'berth.json'), JSON.stringify({ runtimes }), { mode: 0o600 })
    const clock = new JumpingClock(join(dataDir, 'clock'))
    clock.jump(offMs, undefined)
    service = stack.use(
      await startServiceProcess({
        ...testVariables,
        ...clock.variables,
        BERTH_APPROVAL_SECONDS: '1800',
        BERTH_CONFIG: join(dataDir, 'berth.json'),
        BERTH_DATA_DIR: dataDir,
        DATABASE_URL: databaseUrl(db),
      }),
    )
    tenant = await createTenant(db.database)
    api = new Api(service.url, tenant.apiKey)
  })
  afterAll(() => stack.disposeAsync())

  /** Makes a key that ends some minutes from now, by the database's clock. */
  async function keyThatEnds(minutes: number): Promise<string> {
    const key = `svc_cloud_live_${randomBytes(32).toString('base64url')}`
    await db.database.query(
      `insert into api_keys (id, installation_id, kind, digest, created_at, expires_at)
       values ($1, $2, 'cloud', $3, now() - interval '1 day', now() + $4 * interval '1 minute')`,
      [randomUUID(), tenant.installationId, credentialDigest(key), minutes],
    )
    return key
  }

  /** Asks for an approval and waits until it is there. */
  async function openQuestion(): Promise<{ session: Session; interaction: Interaction }> {
    const session = await api.createSession({ runtime: 'scripted' }, 'permission deploy')
    const path = `/v1/sessions/${session.id}/interactions`
    const first = async () => (await api.get<{ interactions: Interaction[] }>(path)).body.interactions[0]
    return { session, interaction: await until('an interaction', first) }
  }

  it('takes a key until it ends, and no longer', async () => {
    const [live, ended] = [await keyThatEnds(30), await keyThatEnds(-30)]
    const asks = async (key: string) => (await new Api(service.url, key).get('/v1/sessions')).status
    expect([await asks(live), await asks(ended)]).toEqual([200, 401])
  })

  it('dates its answers by the clock that its deadlines are of', async () => {
    const { headers } = await fetch(`${service.url}/healthz`)
    expect(Math.abs(Date.parse(headers.get('date') ?? '') - Date.now())).toBeLessThan(MINUTES_MS)
    const { interaction } = await openQuestion()
    const leftMs = Date.parse(interaction.deadline ?? '') - Date.now()
    expect(Math.abs(leftMs - 1_800_000)).toBeLessThan(MINUTES_MS)
  })

  it('ends what nobody answered in time, and nothing else', async () => {
    const [early, late] = [await openQuestion(), await openQuestion()]
    const due = (minutes: number, { interaction }: typeof early) =>
      db.database.query(`update interactions set deadline = now() + $1 * interval '1 minute' where id = $2`, [
        minutes,
        interaction.id,
      ])
    await due(30, early)
    await due(-1, late)
    const run = await endedRun(api, late.session, late.session.activeRunId ?? '')
    const ends = run.events.filter(({ type }) => type === 'svc.interaction.expired')
    expect(ends.map(({ data }) => data['resolution'])).toEqual(['timed_out'])
    const { body } = await api.get<{ interactions: Interaction[] }>(`/v1/sessions/${early.session.id}/interactions`)
    expect(body.interactions.map(({ id }) => id)).toEqual([early.interaction.id])
  })

  it('signs people in, and takes their cookie until its session ends', async () => {
    const person = await personWithPassword(db.database, tenant.organizationId, {})
    const page = new ConsolePage(service.url, tenant.organizationId)
    await page.signIn(person)
    const { session } = await page.identity()
    expect(Math.abs(Date.parse(session.recentUntil) - Date.now() - 10 * 60_000)).toBeLessThan(MINUTES_MS)
    const ends = (minutes: number) =>
      db.database.query(`update console_sessions set expires_at = now() + $1 * interval '1 minute' where id = $2`, [
        minutes,
        session.id,
      ])
    await ends(30)
    expect(outcome(await page.get('/cloud/v1/sessions'))).toBe('200')
    await ends(-30)
    expect(outcome(await page.get('/cloud/v1/sessions'))).toBe('401 sign_in_required')
  })

  it("dates people's tokens so that a process with another clock takes them as long", async () => {
    const { email } = await personWithPassword(db.database, tenant.organizationId, { role: 'admin' })
    const { tokens } = await new CloudClient(service.url).signIn({ email, password })
    const { exp } = JSON.parse(Buffer.from(tokens.access_token.split('.')[1] ?? '', 'base64url').toString())
    expect(Math.abs(exp * 1000 - Date.now() - tokens.expires_in * 1000)).toBeLessThan(MINUTES_MS)
    const mine = new Api(service.url, tokens.access_token)
    expect((await mine.get(`/api/organizations/${tenant.organizationId}/members`)).status).toBe(200)
  })
})

describe('workers whose clocks are wrong', () => {
  const stack = new AsyncDisposableStack()
  let test: TestService
  beforeAll(async () => {
    test = stack.use(await startTestService({ variables: { BERTH_ROLES: 'api' } }))
  })
  afterAll(() => stack.disposeAsync())

  let count = 0
  async function startWorker(offMs = 0) {
    count += 1
    const clock = new JumpingClock(join(test.dataDir, `clock-${count}`))
    clock.jump(offMs, undefined)
    const worker = await startServiceProcess({
      ...testVariables,
      ...shortFence,
      ...clock.variables,
      BERTH_ROLES: 'worker',
      // Longer than the test, and shorter than an hour.
      BERTH_RUN_SECONDS: '1800',
      BERTH_LEASE_IDLE_SECONDS: '1800',
      BERTH_DATA_DIR: test.dataDir,
      DATABASE_URL: databaseUrl(test.db),
    })
    return {
      pid: worker.pid,
      kill: () => worker.kill(),
      jump: (ms: number) => clock.jump(ms, worker.pid),
      [Symbol.asyncDispose]: () => worker.kill(),
    }
  }

  const fenceOf = async (session: Session) =>
    (await test.api.get<{ fence: Fence | null }>(`/v1/sessions/${session.id}/fence`)).body.fence
  const waits = async () => {
    const session = await test.api.createSession({ runtime: 'shell' }, 'while [ ! -e go ]; do sleep 0.02; done')
    await until('a running run', async () => (await test.api.session(session.id)).phase === 'running')
    return session
  }
  const goes = async (session: Session) => {
    await touch(test.db.database, test.dataDir, session, 'go')
    return endedRun(test.api, session, session.activeRunId ?? '')
  }
  /** Waits until a process has been heard of so many times more. */
  async function beats(pid: number, times: number): Promise<void> {
    const heard = async () =>
      (
        await test.db.database.query<{ at: string }>(
          `select heard_at::text as at from processes where split_part(id, '/', 2) = $1`,
          [String(pid)],
        )
      ).rows[0]?.at
    let last = await heard()
    for (let seen = 0; seen < times; seen += 1) {
      last = await until('a heartbeat', async () => {
        const at = await heard()
        return at !== last && at
      })
    }
  }
  /** Waits until a sweep that begins from here on has ended a lease whose time is over. */
  async function sweep(): Promise<void> {
    const session = await test.api.createSession({ runtime: 'shell' }, 'true')
    await endedRun(test.api, session, session.activeRunId ?? '')
    await until('an idle session', async () => (await test.api.session(session.id)).phase === 'idle')
    await test.db.database.query(
      "update leases set expires_at = now() - interval '1 minute' where session_id = $1 and ended_at is null",
      [session.id],
    )
    await until('a sweep', async () => (await test.api.session(session.id)).workspace.state === 'expired')
  }

  it.each(wrong)('leave a Run to the worker that holds it, an hour %s', async (_, offMs) => {
    await using _holder = await startWorker()
    const session = await waits()
    const before = await fenceOf(session)
    await using other = await startWorker(offMs)
    await beats(other.pid, 6)
    await sweep()
    expect(await fenceOf(session)).toMatchObject({ holder: before?.holder, token: before?.token })
    const run = await goes(session)
    expect([outcomeOf(run), startsOf(run).length]).toEqual(['completed completed - 1', 1])
  })

  /** Kills a worker in the middle of a Run. @param begunMinutes when the Run shall have begun */
  async function leftBehind(begunMinutes: number): Promise<{ session: Session; token: number }> {
    await using _first = await startWorker()
    const session = await waits()
    const token = (await fenceOf(session))?.token ?? 0
    await test.db.database.query(
      `update runs set started_at = started_at - $2 * interval '1 minute' where session_id = $1`,
      [session.id, begunMinutes],
    )
    return { session, token }
  }

  it.each(wrong)('go on with the Run of one that was killed, an hour %s, as if nothing were', async (_, offMs) => {
    const { session, token } = await leftBehind(0)
    await using _second = await startWorker(offMs)
    await until('a takeover', async () => ((await fenceOf(session))?.token ?? 0) > token)
    expect(outcomeOf(await goes(session))).toBe('completed completed - 1')
    const { run } = await test.api.submitTurn(session.id, 'test -e go')
    expect(outcomeOf(await endedRun(test.api, session, run.id))).toBe('completed completed - 1')
  })

  it.each(wrong)('end the Run of one that was killed once its time is over, an hour %s', async (_, offMs) => {
    const { session } = await leftBehind(40)
    await using _second = await startWorker(offMs)
    const run = await endedRun(test.api, session, session.activeRunId ?? '')
    expect(outcomeOf(run)).toContain('execution_deadline')
  })

  it.each(wrong)('keep a Run and an idle sandbox while their clock jumps an hour %s', async (_, offMs) => {
    await using worker = await startWorker()
    const idle = await test.api.createSession({ runtime: 'shell' }, 'true')
    await endedRun(test.api, idle, idle.activeRunId ?? '')
    const session = await waits()
    worker.jump(offMs)
    await beats(worker.pid, 4)
    await sweep()
    expect((await test.api.session(idle.id)).workspace.state).not.toBe('expired')
    const run = await goes(session)
    expect([outcomeOf(run), startsOf(run).length]).toEqual(['completed completed - 1', 1])
    worker.jump(0)
    const { run: next } = await test.api.submitTurn(idle.id, 'true')
    expect(outcomeOf(await endedRun(test.api, idle, next.id))).toBe('completed completed - 1')
  })

  it.each(wrong)('keep a Run while the clock of the database is set an hour %s', async (_, setMs) => {
    await using own = new AsyncDisposableStack()
    const context = await workerContext(test, own)
    let offMs = 0
    const ask = async () => Date.now() + offMs
    const keeper = new ClockKeeper({ db: context.db, log: silentLog }, 20, { ask })
    await keeper.begin()
    await own.use(new PeriodicTasks([keeper])).start()
    // The worker's first look at the Run comes once the clock was set: a connection for it may take long on a busy machine.
    const set = Promise.withResolvers<void>()
    const query: Database['query'] = async (statement, values) => {
      if (typeof statement === 'object' && statement.name === 'find-run') await set.promise
      return context.db.query(statement, values)
    }
    const db: Database = { query, transaction: (work, options) => context.db.transaction(work, options) }
    await own.use(new Worker({ ...context, db, clock: keeper.clock })).start()
    const session = await waits()
    offMs = setMs
    await until('the other time', () => Math.abs(keeper.clock.now().getTime() - Date.now() - setMs) < MINUTES_MS)
    set.resolve()
    const run = await goes(session)
    expect([outcomeOf(run), startsOf(run).length]).toEqual(['completed completed - 1', 1])
    const { run: next } = await test.api.submitTurn(session.id, 'test -e go')
    expect(outcomeOf(await endedRun(test.api, session, next.id))).toBe('completed completed - 1')
  })
})
