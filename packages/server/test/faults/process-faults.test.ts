import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { EnvironmentTrial, Fence, Session } from '@berth/contract'
import { embeddedConnection } from '@berth/platform/storage/embedded/embedded-postgres.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { openDatabase } from '@berth/platform/storage/postgres/pool.ts'
import { scriptedRuntimes } from '@berth/testing/agents/scripted-runtimes.ts'
import { Api } from '@berth/testing/api/api.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { Trials } from '@berth/testing/environments/trials.ts'
import { destroySandboxes } from '@berth/testing/faults/destroy-sandboxes.ts'
import { runDirectory } from '@berth/testing/leaks/run-directory.ts'
import { type ScriptedUpstream, says, startScriptedUpstream } from '@berth/testing/models/scripted-upstream.ts'
import { activitiesOf, endedRun, messagesOf, outcomeOf, startsOf } from '@berth/testing/runs/ended-run.ts'
import { silentLog } from '@berth/testing/services/log.ts'
import { databaseUrl, shortFence, startTestService, type TestService } from '@berth/testing/services/service.ts'
import { type ServiceProcess, startServiceProcess } from '@berth/testing/services/service-process.ts'
import { until } from '@berth/testing/until.ts'
import { touch } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const small = {
  ...shortFence,
  BERTH_SANDBOX_MEMORY_BYTES: String(512 * 1024 ** 2),
  BERTH_SANDBOX_DISK_BYTES: String(256 * 1024 ** 2),
}

const fenceOf = async (api: Api, session: Session) =>
  (await api.get<{ fence: Fence | null }>(`/v1/sessions/${session.id}/fence`)).body.fence
/** Returns what names the Session of a trial, which no operation shows. */
async function sessionOfTrial(db: Queryable, { id }: EnvironmentTrial) {
  const { rows } = await db.query<{ organizationId: string }>(
    'select organization_id as "organizationId" from sessions where id = $1',
    [id],
  )
  return { id, organizationId: rows[0]?.organizationId ?? '' }
}
const running = (api: Api, session: Session) =>
  until('a running run', async () => (await api.session(session.id)).phase === 'running')

describe('the whole service in one process', () => {
  const stack = new AsyncDisposableStack()
  let dataDir: string
  let upstream: ScriptedUpstream
  let service: ServiceProcess
  let api: Api
  beforeAll(async () => {
    dataDir = await runDirectory('process')
    stack.defer(() => rm(dataDir, { recursive: true, force: true }))
    upstream = stack.use(await startScriptedUpstream())
    const models = [{ id: 'm1', contextTokens: 128_000, outputTokens: 8192, tools: true }]
    const provider = { id: 'main', kind: 'openai', baseUrl: upstream.baseUrl, apiKey: 'a-key-of-nothing', models }
    await writeFile(
      join(dataDir, 'berth.json'),
      JSON.stringify({ providers: [provider], models: { default: 'main/m1' } }),
      {
        mode: 0o600,
      },
    )
    stack.defer(() => destroySandboxes(dataDir))
    stack.defer(() => service.kill())
    await start()
  })
  afterAll(() => stack.disposeAsync())

  async function start(): Promise<void> {
    service = await startServiceProcess({
      ...small,
      BERTH_DATA_DIR: dataDir,
      BERTH_CONFIG: join(dataDir, 'berth.json'),
    })
    const { apiKey }: { apiKey: string } = JSON.parse(await readFile(join(dataDir, 'dev.json'), 'utf8'))
    api = new Api(service.url, apiKey)
  }

  async function go(session: Session): Promise<void> {
    await using db = openDatabase({ connection: embeddedConnection(dataDir), log: silentLog })
    await touch(db, dataDir, session, 'go')
  }

  /** Reads the pid of the embedded PostgreSQL from its own file. */
  async function postmaster(): Promise<number> {
    const file = await readFile(join(dataDir, 'postgres', 'data', 'postmaster.pid'), 'utf8').catch(() => '')
    return Number(file.split('\n')[0])
  }

  it('keeps everything that was sealed when it is killed during a seal and during a restore', async () => {
    const key = (session: Session) => [session.organizationId, session.id]
    const script = 'head -c 50000000 /dev/urandom > large; sha256sum large > sum'
    const session = await api.createSession({ runtime: 'shell' }, script)
    await until('a seal', async () => (await api.session(session.id)).phase === 'finalizing')
    await service.kill('SIGKILL')
    await start()
    expect(outcomeOf(await endedRun(api, session, session.activeRunId ?? ''))).toBe('completed completed - 1')
    await until('the end of the seal', async () => (await api.session(session.id)).phase === 'idle')
    {
      await using db = openDatabase({ connection: embeddedConnection(dataDir), log: silentLog })
      await db.query(
        "update leases set expires_at = 'epoch' where organization_id = $1 and session_id = $2 and ended_at is null",
        key(session),
      )
      await until('an expired workspace', async () => (await api.session(session.id)).workspace.state === 'expired')
      expect((await api.session(session.id)).continuation).toMatchObject({
        state: 'restorable',
        sealedByRunId: session.activeRunId,
      })
    }
    const { run } = await api.submitTurn(session.id, 'sha256sum -c sum')
    await until('a restore', async () => (await api.session(session.id)).phase === 'provisioning')
    await service.kill('SIGKILL')
    await start()
    const ended = await endedRun(api, session, run.id)
    expect([outcomeOf(ended), activitiesOf(ended)[0]?.['output']]).toEqual(['completed completed - 1', 'large: OK\n'])
  })

  it('continues and completes the same attempt when it is killed during a run and started again', async () => {
    const session = await api.createSession(
      { runtime: 'shell' },
      'echo before; while [ ! -e go ]; do sleep 0.02; done; echo after',
    )
    await running(api, session)
    const before = await fenceOf(api, session)
    await service.kill('SIGKILL')
    await start()
    await until('a takeover', async () => ((await fenceOf(api, session))?.token ?? 0) > (before?.token ?? 0))
    await go(session)
    const run = await endedRun(api, session, session.activeRunId ?? '')
    expect(outcomeOf(run)).toBe('completed completed - 1')
    expect(startsOf(run)).toHaveLength(1)
    expect(activitiesOf(run)).toMatchObject([{ output: 'before\nafter\n' }])
  })

  it('gives the agent at work a message once when it is killed before and after the agent has it', async () => {
    const bash = (command: string) => says({ calls: [{ name: 'bash', args: { command } }] })
    const has = (body: unknown) => JSON.stringify(body).split('rather this').length - 1
    const [step, held, last] = [
      bash('sleep 0.05'),
      bash('while [ ! -e go ]; do sleep 0.02; done'),
      says({ text: 'Done.' }),
    ]
    let given = 0
    upstream.next((request, response) => {
      if (has(request.body) === 0) return step(request, response)
      given += 1
      return (given === 1 ? held : last)(request, response)
    })
    const session = await api.createSession({}, 'Begin')
    await until('a step', async () => upstream.requests.length > 1)
    const { turn } = await api.submitTurn(session.id, 'rather this', { mode: 'steer' })
    await service.kill('SIGKILL')
    await start()
    await until('the message', async () =>
      (await api.events(session.id)).some(({ type }) => type === 'svc.turn.steered'),
    )
    await service.kill('SIGKILL')
    await start()
    await go(session)
    const run = await endedRun(api, session, session.activeRunId ?? '')
    expect(outcomeOf(run)).toBe('completed completed - 1')
    expect(run.events.filter(({ type }) => type === 'svc.turn.steered').map(({ data }) => data)).toEqual([
      { turnId: turn.id, status: 'taken' },
    ])
    const { run: next } = await api.submitTurn(session.id, 'go on')
    await endedRun(api, session, next.id)
    expect(has(upstream.requests.at(-1)?.body)).toBe(1)
  })

  it('goes on with the same setup script when it is killed while the script runs', async () => {
    const setup = 'echo once >> count; echo before; while [ ! -e go ]; do sleep 0.02; done; echo after'
    const { id } = await new Environments(api).make({ setup })
    const session = await api.createSession({ runtime: 'shell', environment: { id } }, 'cat count')
    const events = async () => (await api.events(session.id)).filter(({ type }) => type.startsWith('svc.environment.'))
    await until('output of setup', async () => (await events()).length === 2)
    await service.kill('SIGKILL')
    await start()
    await go(session)
    const run = await endedRun(api, session, session.activeRunId ?? '')
    expect(outcomeOf(run)).toBe('completed completed - 1')
    expect(activitiesOf(run)).toMatchObject([{ output: 'once\n' }])
    expect((await events()).map(({ data }) => data['status'] ?? data['text'])).toEqual([
      'started',
      'before\n',
      'after\n',
      'succeeded',
    ])
  })

  it('gives the sandbox of a trial back when it is killed while the trial runs, and nobody comes back', async () => {
    const { id } = await new Environments(api).make({ setup: 'while [ ! -e go ]; do sleep 0.02; done; echo after' })
    const trial = await new Trials(api).begin(id)
    const state = async () => (await new Trials(api).read(trial)).body.trial.state
    await until('setup', async () => (await state()) === 'applying')
    await service.kill('SIGKILL')
    await start()
    await using db = openDatabase({ connection: embeddedConnection(dataDir), log: silentLog })
    await touch(db, dataDir, await sessionOfTrial(db, trial), 'go')
    await until('the end of the trial', async () => {
      const { rows } = await db.query(
        `select 1 from environment_trials t where t.session_id = $1 and t.outcome = 'succeeded' and not exists (
           select from leases l where l.session_id = t.session_id and l.ended_at is null)`,
        [trial.id],
      )
      return rows.length > 0
    })
    expect(await state()).toBe('succeeded')
  })

  it('survives the death of its PostgreSQL, and so does the run', async () => {
    const session = await api.createSession({ runtime: 'shell' }, 'while [ ! -e go ]; do sleep 0.02; done; echo after')
    await running(api, session)
    const killed = await postmaster()
    process.kill(killed, 'SIGKILL')
    await until('another PostgreSQL', async () => {
      const now = await postmaster()
      return now > 0 && now !== killed && (await fetch(`${service.url}/readyz`)).ok
    })
    await go(session)
    const run = await endedRun(api, session, session.activeRunId ?? '')
    expect(outcomeOf(run)).toBe('completed completed - 1')
    expect(activitiesOf(run)).toMatchObject([{ output: 'after\n' }])
  })
})

describe('workers in processes of their own', () => {
  const stack = new AsyncDisposableStack()
  let test: TestService
  beforeAll(async () => {
    const { runtimes } = stack.use(await scriptedRuntimes())
    test = stack.use(await startTestService({ variables: { BERTH_ROLES: 'api' }, config: { runtimes } }))
  })
  afterAll(() => stack.disposeAsync())

  const worker = (variables: Record<string, string> = {}) =>
    startServiceProcess({
      ...small,
      BERTH_ROLES: 'worker',
      BERTH_DATA_DIR: test.dataDir,
      DATABASE_URL: databaseUrl(test.db),
      ...variables,
    })

  /** Starts workers that stop with the test. */
  async function workers(count: number, variables?: Record<string, string>) {
    const starts = await Promise.allSettled(Array.from({ length: count }, () => worker(variables)))
    const all = starts.flatMap(start => (start.status === 'fulfilled' ? [start.value] : []))
    const failed = starts.find(start => start.status === 'rejected')
    if (failed !== undefined) {
      // One that started would take the Runs of later tests.
      await Promise.all(all.map(each => each.kill()))
      throw failed.reason
    }
    return {
      all,
      /** Returns the worker that currently executes a Session's Run. */
      async holding(session: Session): Promise<ServiceProcess> {
        return until('a worker', async () => {
          const holder = (await fenceOf(test.api, session))?.holder.split('/')[1]
          return all.find(each => String(each.pid) === holder)
        })
      },
      [Symbol.asyncDispose]: async () => {
        await Promise.all(all.map(each => each.kill()))
      },
    }
  }

  const go = (session: Session, name = 'go') => touch(test.db.database, test.dataDir, session, name)

  it('take over from a killed one', async () => {
    await using pool = await workers(2)
    const session = await test.api.createSession(
      { runtime: 'scripted' },
      'say the answer\ntool a\nwait /workspace/go\ntool b',
    )
    await until('a first tool call', async () =>
      (await test.api.events(session.id)).some(event => event.type === 'svc.activity.completed'),
    )
    const first = await pool.holding(session)
    await first.kill('SIGKILL')
    await go(session)
    const run = await endedRun(test.api, session, session.activeRunId ?? '')
    expect(outcomeOf(run)).toBe('completed completed - 1')
    expect(startsOf(run)).toHaveLength(1)
    expect(activitiesOf(run).map(activity => activity['title'])).toEqual(['a', 'b'])
    // The agent said it to the first worker, and said nothing after it.
    expect(run.run.result?.summary).toBe('the answer')
  })

  it('take over at once from one of their machine that was killed, and from one that was dead before they began', async () => {
    // Nobody is taken for dead because of a silence.
    const patient = { BERTH_FENCE_SECONDS: '600' }
    await using pool = await workers(2, patient)
    const session = await test.api.createSession({ runtime: 'shell' }, 'while [ ! -e go ]; do sleep 0.02; done')
    await running(test.api, session)
    for (let deaths = 0; deaths < 2; deaths += 1) {
      const before = (await fenceOf(test.api, session))?.token ?? 0
      await (await pool.holding(session)).kill('SIGKILL')
      await using next = deaths === 0 ? null : await workers(1, patient)
      await until('a takeover', async () => ((await fenceOf(test.api, session))?.token ?? 0) > before)
      if (next === null) continue
      await go(session)
      expect(outcomeOf(await endedRun(test.api, session, session.activeRunId ?? ''))).toBe('completed completed - 1')
    }
  })

  it('take over an answer that was sent back, which is asked for no third time', async () => {
    await using pool = await workers(2)
    const session = await test.api.createSession({ runtime: 'scripted' })
    const script = 'again say {}\\ntool a\\nwait /workspace/go\nsay none'
    const output = { schema: { type: 'object', required: ['n'] } }
    const { run: begun } = await test.api.submitTurn(session.id, script, { output })
    const activity = async () =>
      (await test.api.events(session.id)).some(event => event.type === 'svc.activity.completed')
    await until('a tool call after the correction', activity)
    await (await pool.holding(session)).kill('SIGKILL')
    await go(session)
    const run = await endedRun(test.api, session, begun.id)
    expect(outcomeOf(run)).toBe('failed error output_invalid 1')
    const rejected = run.events.filter(({ type }) => type === 'svc.output.rejected').map(({ data }) => data['answer'])
    expect([rejected, messagesOf(run).map(({ text }) => text)]).toEqual([
      [1, 2],
      ['none', '{}'],
    ])
  })

  it('take over from one that is frozen for longer than its claims last, and it does no harm when it is back', async () => {
    await using pool = await workers(2)
    const session = await test.api.createSession(
      { runtime: 'scripted' },
      'count 2000\ntool a\nwait /workspace/go\ncount 2000\ntool b',
    )
    await running(test.api, session)
    const frozen = await pool.holding(session)
    process.kill(frozen.pid, 'SIGSTOP')
    const before = (await fenceOf(test.api, session))?.token ?? 0
    await until('a takeover', async () => ((await fenceOf(test.api, session))?.token ?? 0) > before)
    process.kill(frozen.pid, 'SIGCONT')
    // Its socket and its lock stayed, so nobody concluded from them that it had died.
    const verdict = new RegExp(`/${frozen.pid}/.*(?:has died|fell silent)`)
    expect(pool.all.flatMap(({ lines }) => lines).join('\n')).not.toMatch(verdict)
    await until('another heartbeat of the frozen one', async () => {
      const { rows } = await test.db.database.query(
        'select 1 from processes where id like $1 and heard_since > started_at',
        [`%/${frozen.pid}/%`],
      )
      return rows.length > 0
    })
    await go(session)
    const run = await endedRun(test.api, session, session.activeRunId ?? '')
    expect(outcomeOf(run)).toBe('completed completed - 1')
    expect(startsOf(run)).toHaveLength(1)
    expect(activitiesOf(run).map(activity => activity['title'])).toEqual(['a', 'b'])
    const numbers = Array.from({ length: 2000 }, (_, index) => `${index + 1} `).join('')
    expect(messagesOf(run).map(message => message['text'])).toEqual([numbers, numbers])
    expect(run.events.filter(({ type }) => /^svc\.run\.(completed|failed|crashed|cancelled)$/.test(type))).toHaveLength(
      1,
    )
  })

  it('take over at once from one that stops, whatever the life of its claims', async () => {
    await using pool = await workers(2, { BERTH_FENCE_SECONDS: '600' })
    const session = await test.api.createSession({ runtime: 'scripted' }, 'tool a\nwait /workspace/go\nsay done')
    await running(test.api, session)
    const first = await pool.holding(session)
    await first.kill('SIGTERM')
    await go(session)
    const run = await endedRun(test.api, session, session.activeRunId ?? '')
    expect(outcomeOf(run)).toBe('completed completed - 1')
    expect(startsOf(run)).toHaveLength(1)
  })

  it('may be killed twenty times while an agent works, and nothing is lost or repeated', {
    timeout: 600_000,
  }, async () => {
    const kills = 20
    const steps = Array.from({ length: kills + 1 }, (_, index) => index)
    const burst = (step: number) => Array.from({ length: 40 }, (_, n) => `${step}.${n} `)
    const script = steps.flatMap(step => [
      ...burst(step).map(text => `say ${text}`),
      `tool a${step}`,
      ...burst(step).map(text => `say ${text}`),
      `tool b${step}`,
      `wait /workspace/go-${step}`,
    ])
    await using pool = await workers(1)
    const session = await test.api.createSession({ runtime: 'scripted' }, script.join('\n'))
    const activities = async () => {
      const { rows } = await test.db.database.query<{ n: number }>(
        "select count(*)::int as n from events where session_id = $1 and type = 'svc.activity.completed'",
        [session.id],
      )
      return rows[0]?.n ?? 0
    }
    for (const step of steps) {
      const holder = await pool.holding(session)
      await until(`step ${step}`, async () => (await activities()) >= 2 * step + 1)
      if (step === kills) {
        await go(session, `go-${step}`)
        break
      }
      pool.all.push(await worker())
      // The agent writes again from here on; the worker dies at a different line each time.
      await go(session, `go-${step}`)
      if (step % 2 === 1) await until('a few more', async () => (await activities()) > 2 * step + 1)
      await holder.kill('SIGKILL')
      await test.db.database.query("update executions set expires_at = 'epoch' where session_id = $1", [session.id])
    }
    const run = await endedRun(test.api, session, session.activeRunId ?? '')
    expect(outcomeOf(run)).toBe('completed completed - 1')
    expect(startsOf(run)).toHaveLength(1)
    const texts = messagesOf(run).map(message => message['text'])
    expect(texts).toEqual(steps.flatMap(step => [burst(step).join(''), burst(step).join('')]))
    expect(activitiesOf(run).map(activity => activity['title'])).toEqual(
      steps.flatMap(step => [`a${step}`, `b${step}`]),
    )
    expect(run.run.result?.summary).toBe(burst(kills).join(''))
  })
})
