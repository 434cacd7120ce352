import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Interaction, Session, TurnAdmission } from '@berth/contract'
import { nativeStandIn } from '@berth/testing/agents/scripted-runtimes.ts'
import { type CrashMode, type CrashPhase, CrashPoint } from '@berth/testing/faults/crash-point.ts'
import { claimQueued } from '@berth/testing/runs/claim-queued.ts'
import { activitiesOf, endedRun, messagesOf, outcomeOf, startsOf } from '@berth/testing/runs/ended-run.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import type { RunClaim } from '@berth/worker/claim/claim.ts'
import { adoptLapsed } from '@berth/worker/claim/claim-sql.ts'
import type { ExecutionContext } from '@berth/worker/claim/execution-context.ts'
import { Sweeper } from '@berth/worker/host/sweeper.ts'
import { executeRun } from '@berth/worker/run-execution.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let test: TestService
let context: ExecutionContext
beforeAll(async () => {
  test = stack.use(await startTestService({ variables: { BERTH_ROLES: 'api' } }))
  // Nothing here renews a claim: only the test lapses one.
  const native = stack.use(await nativeStandIn())
  // bound: Runs are to be parked at once
  const limits = { fenceMs: 600_000, runMs: 600_000, leaseMaxMs: 600_000, parkMs: 1, pulseMs: 250 }
  context = { ...(await workerContext(test, stack, { limits, runtimes: [native.entry] })), defaultModel: 'any' }
})
afterAll(() => stack.disposeAsync())

/** Number of sandboxes at once. */
const AT_ONCE = 4

async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items]
  const next = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, next))
}

const by = (now: Date) => ({
  holder: 'worker',
  hosts: [context.host],
  now,
  expiresAt: new Date(now.getTime() + 600_000),
})
const execute = (claim: RunClaim, world = context, signal = new AbortController().signal) =>
  executeRun(world, claim, signal)

/** Lets a healthy worker take over until every Run has ended, or waits for people. */
async function finish(until: 'ended' | 'parked' = 'ended'): Promise<void> {
  const open = until === 'ended' ? 'ended_at is null' : "ended_at is null and status <> 'awaiting'"
  for (;;) {
    const { rows } = await test.db.database.query<{ n: number }>(
      `select (select count(*) from runs where ${open})::int
            + (select count(*) from executions where task is not null)::int as n`,
    )
    if (rows[0]?.n === 0) return
    await test.db.database.query("update executions set expires_at = 'epoch' where task is not null")
    const later = by(new Date(Date.now() + 60_000))
    await each(
      [...(await adoptLapsed(context.db, later, 1000)), ...(await claimQueued(context.db, later, 1000))],
      claim => execute(claim),
    )
  }
}

/** A Session and the crash points of its workers. */
interface Case {
  readonly session: Session
  readonly seal: CrashPoint
  readonly restore: CrashPoint
}

/**
 * Runs a Turn in every Session, each under its own crash point; then a healthy worker takes over.
 * @returns the ids of the Runs
 */
async function turn(cases: readonly Case[], message: string, phase: CrashPhase | null): Promise<string[]> {
  const runs = await Promise.all(
    cases.map(async ({ session }) => (await test.api.submitTurn(session.id, message)).run.id),
  )
  const claims = await claimQueued(context.db, by(new Date()), 1000)
  await each(cases, async ({ session, ...points }) => {
    const claim = claims.find(({ sessionId }) => sessionId === session.id)
    if (claim === undefined) throw new Error('no claim')
    const point = phase === null ? new CrashPoint('restore', 0, 'dies') : points[phase]
    await execute(claim, point.world(context), point.signal)
  })
  await finish()
  return runs
}

async function expire(): Promise<void> {
  await test.db.database.query("update leases set expires_at = 'epoch' where ended_at is null")
  await new Sweeper(context).round()
}

/** Different content in each Session, so that no two share a blob. */
const first = 'head -c 5000 /dev/urandom > kept; echo 1 > turn; sha256sum kept > sum'
const second =
  'sha256sum -c --status sum && echo 2 > turn; head -c 5000 /dev/urandom > more; sha256sum more >> sum; berth-present turn'
const check = 'sha256sum -c --status sum && cat turn'

const question = `present draft\nsay asking\nask ${JSON.stringify({ message: 'Which?', requestedSchema: { properties: { a: { type: 'string' } } } })}`

const modes: readonly CrashMode[] = ['dies', 'fails', 'unanswered']

const readings = new Set<string | undefined>(['look for an outbox', 'look for a blob', 'read a blob'])

/**
 * Returns every step of a phase with every mode, except for two that leave the same state as another: a read whose
 * answer is lost has failed, and a worker that dies after two reads might have died after the first.
 */
function pointsOf(phase: CrashPhase, steps: readonly string[]): CrashPoint[] {
  return steps.flatMap((step, index) => {
    const again = readings.has(step) && readings.has(steps[index - 1])
    const ways = modes.filter(mode => mode === 'fails' || !(mode === 'dies' ? again : readings.has(step)))
    return ways.map(mode => new CrashPoint(phase, index + 1, mode))
  })
}

/** Runs one native Session for each pair of points: its Run parks under the first and resumes under the second. */
async function driveParked(points: readonly Pick<Case, CrashPhase>[]): Promise<void> {
  const cases: Case[] = []
  for (const each of points) cases.push({ session: await test.api.createSession({}, question), ...each })
  const claims = await claimQueued(context.db, by(new Date()), 1000)
  await each(cases, async ({ session, seal }) => {
    const claim = claims.find(({ sessionId }) => sessionId === session.id)
    if (claim === undefined) throw new Error('no claim')
    await execute(claim, seal.world(context), seal.signal)
  })
  await finish('parked')
  const { rows: live } = await test.db.database.query('select 1 from leases where ended_at is null')
  expect(live).toEqual([])
  for (const { session } of cases) {
    expect(await test.api.session(session.id)).toMatchObject({ phase: 'awaiting', workspace: { state: 'expired' } })
    const { body } = await test.api.get<{ interactions: Interaction[] }>(`/v1/sessions/${session.id}/interactions`)
    const replyTo = { interactionId: body.interactions[0]?.id }
    const turn = { message: 'mine', replyTo }
    const answer = await test.api.put<TurnAdmission>(`/v1/sessions/${session.id}/turns/${randomUUID()}`, turn)
    expect([answer.status, answer.body.run]).toMatchObject([202, { id: session.activeRunId, status: 'running' }])
  }
  const adopted = await adoptLapsed(context.db, by(new Date()), 1000)
  await each(cases, async ({ session, restore }) => {
    const claim = adopted.find(({ sessionId }) => sessionId === session.id)
    if (claim === undefined) throw new Error('nobody goes on')
    await execute(claim, restore.world(context), restore.signal)
  })
  await finish()
  for (const { session } of cases) {
    const ended = await endedRun(test.api, session, session.activeRunId ?? '')
    expect([outcomeOf(ended), startsOf(ended).length]).toEqual(['completed completed - 1', 1])
    const answers = messagesOf(ended).flatMap(({ role, text }) => (role === 'assistant' ? [text] : []))
    expect(answers).toEqual(['asking', 'You asked:', 'a: Which?', 'The answer is: mine'])
    const names = ended.events.flatMap(({ type, data }) => (type === 'svc.artifact.created' ? [data['name']] : []))
    expect(names).toEqual(['draft', 'summary.md'])
    const types = ended.events.map(({ type }) => type).filter(type => type.startsWith('svc.interaction.'))
    expect(types).toEqual(['svc.interaction.opened', 'svc.interaction.resolved'])
  }
  await expire()
}

/** Runs one Session for each pair of points: two Turns and a restore, after which everything must be there. */
async function drive(points: readonly Pick<Case, CrashPhase>[]): Promise<void> {
  const cases: Case[] = []
  for (const each of points) cases.push({ session: await test.api.createSession({ runtime: 'shell' }), ...each })
  await turn(cases, first, null)
  const sealed = await turn(cases, second, 'seal')
  for (const [index, { session }] of cases.entries()) {
    const ended = await endedRun(test.api, session, sealed[index] ?? '')
    const answers = activitiesOf(ended).map(({ output }) => output)
    expect([outcomeOf(ended), ...answers]).toEqual(['completed completed - 1', 'presented turn\n'])
    expect(ended.events.filter(({ data }) => data['kind'] === 'presented_file')).toMatchObject([
      { type: 'svc.artifact.created', data: { name: 'turn', sizeBytes: 2 } },
    ])
  }
  await expire()
  for (const [index, { session }] of cases.entries()) {
    const { continuation, phase } = await test.api.session(session.id)
    expect([phase, continuation.state, continuation.sealedByRunId]).toEqual(['idle', 'restorable', sealed[index]])
  }
  const restored = await turn(cases, check, 'restore')
  for (const [index, { session }] of cases.entries()) {
    const ended = await endedRun(test.api, session, restored[index] ?? '')
    expect([ended.run.status, activitiesOf(ended).map(({ output }) => output)]).toEqual(['completed', ['2\n']])
    expect((await test.api.events(session.id)).some(event => event.data['name'] === 'restore')).toBe(true)
  }
  const { rows } = await test.db.database.query<{ n: number }>(
    'select count(*)::int as n from leases where ended_at is null group by session_id',
  )
  expect(rows.map(({ n }) => n)).toEqual(cases.map(() => 1))
  await expire()
}

/** Lists the steps in the table below a heading of the documentation. */
function documented(phase: string): string[] {
  const page = readFileSync(new URL('../../../../docs/crash-points.md', import.meta.url), 'utf8')
  const [, section = ''] = page.split(`## ${phase === 'seal' ? 'Seal' : 'Restore'}\n`)
  const [table = ''] = section.split('\n## ')
  return [...table.matchAll(/^\| ([a-z ]+?) +\| (?!what)/gm)].map(([, name = '']) => name)
}

describe('a worker that crashes at any step', { timeout: 300_000 }, () => {
  it('of parking or resuming a run keeps the question and the run', async () => {
    const rehearsal = { seal: new CrashPoint('seal', 0, 'dies'), restore: new CrashPoint('restore', 0, 'dies') }
    await driveParked([rehearsal])
    // The tests below strike the steps of sealing and restoring; this one strikes the steps that parking adds.
    const { seal, restore } = rehearsal
    const struck: readonly (readonly [CrashPhase, number, CrashMode])[] = [
      ['seal', 1, 'dies'],
      ['seal', seal.steps.length - 1, 'dies'],
      ...modes.map(mode => ['seal', seal.steps.length, mode] as const),
      ['restore', 1, 'dies'],
      ['restore', restore.steps.indexOf('make the sandbox') + 1, 'fails'],
      ['restore', restore.steps.indexOf('read a blob') + 1, 'dies'],
      ['restore', restore.steps.length, 'dies'],
      ['restore', restore.steps.length, 'unanswered'],
    ]
    const points = struck.map(([phase, at, mode]) => new CrashPoint(phase, at, mode))
    const of = (phase: CrashPhase) => points.filter((_, index) => struck[index]?.[0] === phase)
    await driveParked(of('seal').map((each, index) => ({ seal: each, restore: of('restore')[index] ?? each })))
    expect(points.filter(point => !point.struck)).toEqual([])
  })

  // In two tests, because all points take long on a busy machine.
  it.each([0, 1])('of a seal or of a restore loses nothing that was sealed (half %i)', async half => {
    // Workers without faults reveal the steps.
    const rehearsal = { seal: new CrashPoint('seal', 0, 'dies'), restore: new CrashPoint('restore', 0, 'dies') }
    await drive([rehearsal])
    const { seal, restore } = rehearsal
    for (const [phase, { steps }] of Object.entries({ seal, restore })) {
      expect(new Set(steps)).toEqual(new Set(documented(phase)))
      expect(steps.length).toBeGreaterThan(5)
    }
    const ours = (points: readonly CrashPoint[]) => points.filter((_, index) => index % 2 === half)
    const seals = ours(pointsOf('seal', seal.steps))
    const restores = ours(pointsOf('restore', restore.steps))
    await drive(
      Array.from({ length: Math.max(seals.length, restores.length) }, (_, index) => ({
        seal: seals[index] ?? new CrashPoint('seal', 0, 'dies'),
        restore: restores[index] ?? new CrashPoint('restore', 0, 'dies'),
      })),
    )
    expect([...seals, ...restores].filter(({ struck }) => !struck)).toEqual([])
  })
})
