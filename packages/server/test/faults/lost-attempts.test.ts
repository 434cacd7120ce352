import { existsSync } from 'node:fs'
import type { Session } from '@berth/contract'
import { scriptedRuntimes } from '@berth/testing/agents/scripted-runtimes.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { activitiesOf, type EndedRun, endedRun, outcomeOf, startsOf, typesOf } from '@berth/testing/runs/ended-run.ts'
import { databaseUrl, startTestService, type TestService } from '@berth/testing/services/service.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { type SeverableDatabase, severable } from '@berth/testing/storage/severable-database.ts'
import { until } from '@berth/testing/until.ts'
import { sandboxProcesses, signalSandbox } from '@berth/testing/workspaces/sandbox-processes.ts'
import { touch, workspacePath } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let db: TestDatabase
let proxy: SeverableDatabase
let test: TestService
let api: Api
beforeAll(async () => {
  const { runtimes } = stack.use(await scriptedRuntimes())
  db = stack.use(await createTestDatabase())
  proxy = stack.use(await severable(db))
  const variables = {
    DATABASE_URL: databaseUrl({ ...db, connection: proxy.connection }),
  }
  test = stack.use(await startTestService({ variables, config: { runtimes } }))
  api = new Api(test.url, (await createTenant(db.database)).apiKey)
})
afterAll(() => stack.disposeAsync())

const ended = (session: Session, runId = session.activeRunId ?? ''): Promise<EndedRun> => endedRun(api, session, runId)

interface Lease {
  readonly id: string
  readonly session_id: string
}

/** Returns the lease of a Session whose agent is working. */
function workingLease(session: Session, attempt = 1): Promise<Lease> {
  return until(`attempt ${attempt} at work`, async () => {
    const { rows } = await db.database.query<Lease>(
      `select l.id, l.session_id from leases l join runs r using (organization_id, session_id)
       where session_id = $1 and l.ended_at is null and l.active_prompt is not null and r.attempts = $2
         and r.ended_at is null`,
      [session.id, attempt],
    )
    return rows[0]
  })
}

const go = (session: Session, name: string) => touch(db.database, test.dataDir, session, name)
const worked = async (session: Session, name: string) =>
  existsSync(await workspacePath(db.database, test.dataDir, session, name))
const types = async (session: Session) => (await api.events(session.id)).map(event => event.type)
const recorded = (session: Session, type: string) => until(type, async () => (await types(session)).includes(type))

/** Ways to lose a sandbox, and whether its processes survive. */
const losses = [
  ['killed', 'SIGKILL'],
  ['frozen', 'SIGSTOP'],
] as const

describe.each(losses)('a sandbox that is %s', (_, signal) => {
  it('before a tool call costs an attempt: the run starts again in another sandbox', async () => {
    const session = await api.createSession({ runtime: 'scripted' }, 'wait /workspace/go\nsay done')
    const first = await workingLease(session)
    await signalSandbox(test.dataDir, first.id, signal)
    const second = await workingLease(session, 2)
    expect(second.id).not.toBe(first.id)
    await go(session, 'go')
    const run = await ended(session)
    expect(outcomeOf(run)).toBe('completed completed - 2')
    expect(startsOf(run).map(start => start['attempt'])).toEqual([1, 2])
    expect((await types(session)).filter(type => type === 'svc.workspace.expired')).toHaveLength(1)
    await until('an end of what is left', async () => (await sandboxProcesses(test.dataDir, first.id)).length === 0)
  })

  it('after a tool call ends the run: the call could be made twice', async () => {
    const session = await api.createSession({ runtime: 'scripted' }, 'tool deploy\nhang')
    const lease = await workingLease(session)
    await recorded(session, 'svc.activity.completed')
    await signalSandbox(test.dataDir, lease.id, signal)
    const run = await ended(session)
    expect(outcomeOf(run)).toBe('crashed engine_unreachable turn_execution_lost 1')
    expect(await api.session(session.id)).toMatchObject({
      phase: 'idle',
      workspace: { state: 'expired' },
      continuation: { canContinue: false, reason: 'checkpoint_missing' },
    })
  })
})

describe('a sandbox that is lost', () => {
  it('in a later turn costs an attempt: it starts again from the seal of the previous turn', async () => {
    const session = await api.createSession({ runtime: 'scripted' }, 'say one')
    await ended(session)
    await until('a sealed run', async () => (await api.session(session.id)).phase === 'idle')
    const { run } = await api.submitTurn(session.id, 'wait /workspace/go\nsay two')
    await signalSandbox(test.dataDir, (await workingLease(session)).id, 'SIGKILL')
    await workingLease(session, 2)
    await go(session, 'go')
    expect(outcomeOf(await ended(session, run.id))).toBe('completed completed - 2')
  })

  it('while its run is being cancelled ends the run as cancelled', async () => {
    const session = await api.createSession({ runtime: 'scripted' }, 'ignore-cancel\nhang')
    const lease = await workingLease(session)
    await api.call('POST', `/v1/sessions/${session.id}/runs/${session.activeRunId}/cancel`)
    await signalSandbox(test.dataDir, lease.id, 'SIGKILL')
    expect(outcomeOf(await ended(session))).toBe('cancelled aborted - 1')
  })
})

describe('a database that is away', () => {
  it('while an agent works stops neither it nor its run', async () => {
    const session = await api.createSession(
      { runtime: 'shell' },
      'touch began; while [ ! -e away ]; do sleep 0.02; done; echo meanwhile; touch done; while [ ! -e back ]; do sleep 0.02; done; echo after',
    )
    await workingLease(session)
    await until('work', () => worked(session, 'began'))
    await proxy.cut()
    await go(session, 'away')
    await until('work without a database', () => worked(session, 'done'))
    await lapsed(session)
    await proxy.mend()
    await go(session, 'back')
    const run = await ended(session)
    expect(outcomeOf(run)).toBe('completed completed - 1')
    expect(typesOf(run)).toEqual([
      'run.started',
      'run.progress',
      'run.progress',
      'activity.completed',
      'artifact.created',
      'run.completed',
    ])
    expect(activitiesOf(run)).toMatchObject([{ output: 'meanwhile\nafter\n' }])
  })

  it('when an agent ends loses none of its work', async () => {
    const session = await api.createSession(
      { runtime: 'scripted' },
      'wait /workspace/go\ncount 2000\ntools 50\nsay end',
    )
    await workingLease(session)
    await proxy.cut()
    await go(session, 'go')
    await lapsed(session)
    await proxy.mend()
    const run = await ended(session)
    expect(outcomeOf(run)).toBe('completed completed - 1')
    const [counted] = run.events.filter(event => event.type === 'svc.message.created')
    expect(counted?.data['text']).toBe(Array.from({ length: 2000 }, (_, index) => `${index + 1} `).join(''))
    const done = run.events.filter(event => event.type === 'svc.activity.completed')
    expect(done.map(event => event.data['title'])).toEqual(
      Array.from({ length: 50 }, (_, index) => `step ${index + 1}`),
    )
  })

  it('again and again, at any point, neither loses nor repeats anything', async () => {
    const session = await api.createSession(
      { runtime: 'scripted' },
      'count 500\n'.concat('tool x\ncount 300\n'.repeat(40)),
    )
    for (let cuts = 0, tools = 0; tools < 40 && cuts < 15; cuts += 1) {
      await proxy.cut()
      await proxy.mend()
      const before: number = tools
      const progressed = async () => {
        const { rows } = await db.database.query<{ n: number; over: boolean }>(
          `select count(*)::int as n, bool_or(type like 'svc.run.c%') as over from events where session_id = $1
           and type in ('svc.activity.completed', 'svc.run.completed', 'svc.run.crashed')`,
          [session.id],
        )
        tools = rows[0]?.n ?? 0
        return tools > before || rows[0]?.over === true
      }
      await until('progress', progressed)
    }
    const run = await ended(session)
    expect(outcomeOf(run)).toBe('completed completed - 1')
    const texts = run.events.filter(event => event.type === 'svc.message.created').map(event => event.data['text'])
    const numbers = (count: number) => Array.from({ length: count }, (_, index) => `${index + 1} `).join('')
    expect(texts).toEqual([numbers(500), ...Array<string>(40).fill(numbers(300))])
    expect(run.events.filter(event => event.type === 'svc.activity.completed')).toHaveLength(40)
  })
})

/** Waits, by the clock of the database's rows, until the claim on a Session's Run has lapsed. */
async function lapsed(session: Session): Promise<void> {
  await until('a lapsed claim', async () => {
    const { rows } = await db.database.query<{ late: boolean }>(
      `select p.heard_at + p.patience < clock_timestamp() as late
       from executions e join processes p on p.id = e.holder where e.session_id = $1`,
      [session.id],
    )
    return rows[0]?.late
  })
}
