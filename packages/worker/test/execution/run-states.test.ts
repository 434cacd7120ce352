import type { Run, Session } from '@berth/contract'
import { endRun } from '@berth/core/sessions/runs/end-run.ts'
import { markRunning } from '@berth/core/sessions/runs/run-sql.ts'
import { isTerminal } from '@berth/testing/api/api.ts'
import { claimQueued } from '@berth/testing/runs/claim-queued.ts'
import { keyOf } from '@berth/testing/runs/states.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ClaimLost, type RunClaim } from '../../src/claim/claim.ts'
import { adoptLapsed } from '../../src/claim/claim-sql.ts'
import type { ExecutionContext } from '../../src/claim/execution-context.ts'
import { endClaimedRun, executionLost, type Loss, loseAttempt } from '../../src/claim/finish.ts'
import { underFence } from '../../src/claim/under-fence.ts'

const stack = new AsyncDisposableStack()
let test: TestService
let context: ExecutionContext
beforeAll(async () => {
  test = stack.use(await startTestService({ variables: { BERTH_ROLES: 'api' } }))
  context = await workerContext(test, stack, { limits: { maxAttempts: 3 } })
})
afterAll(() => stack.disposeAsync())

/** A Run and, if a worker holds it, the worker's claim. */
interface Subject {
  readonly session: Session
  readonly runId: string
  claim: RunClaim | null
}

const by = () => ({ holder: 'worker', hosts: [context.host], now: new Date() })

async function claim(subject: Subject): Promise<void> {
  const claims = await claimQueued(context.db, by(), 100)
  subject.claim = claims.find(each => each.run.id === subject.runId) ?? subject.claim
}

async function takeOver(subject: Subject): Promise<void> {
  await context.db.query("update executions set expires_at = 'epoch' where session_id = $1", [subject.session.id])
  const claims = await adoptLapsed(context.db, by(), 100)
  subject.claim = claims.find(each => each.run.id === subject.runId) ?? subject.claim
}

/** Runs a worker's command. Without a claim, the command is refused like that of a worker that lost its claim. */
async function asWorker(subject: Subject, work: (claim: RunClaim) => Promise<void>): Promise<void> {
  const { organizationId } = subject.session
  const run = { id: subject.runId } as RunClaim['run']
  const none: RunClaim = {
    organizationId,
    sessionId: subject.session.id,
    runId: subject.runId,
    run,
    revoked: false,
    token: 0,
    holder: 'nobody',
  }
  await work(subject.claim ?? none).catch(error => {
    if (!(error instanceof ClaimLost)) throw error
  })
}

const begin = (subject: Subject) =>
  asWorker(subject, claim => underFence(context, claim, tx => markRunning(tx, claim, subject.runId, new Date())))
const lose = (subject: Subject, loss: Partial<Loss> = {}) =>
  asWorker(subject, claim => loseAttempt(context, claim, { sandboxLost: false, outcome: executionLost, ...loss }))
const end = (status: 'completed' | 'failed' | 'cancelled' | 'crashed') => (subject: Subject) =>
  asWorker(subject, claim => endClaimedRun(context, claim, { status }))

async function cancel({ session, runId }: Subject): Promise<void> {
  const answer = await test.api.call('POST', `/v1/sessions/${session.id}/runs/${runId}/cancel`)
  expect(answer.status).toBe(200)
}

async function archive({ session }: Subject): Promise<void> {
  expect((await test.api.call('DELETE', `/v1/sessions/${session.id}`)).status).toBe(204)
}

const commands = { claim, takeOver, begin, lose, complete: end('completed'), fail: end('failed'), cancel, archive }

async function queued(): Promise<Subject> {
  const session = await test.api.createSession({ runtime: 'shell' }, 'true')
  return { session, runId: session.activeRunId ?? '', claim: null }
}

async function after(subject: Promise<Subject>, ...steps: ((subject: Subject) => Promise<void>)[]): Promise<Subject> {
  const made = await subject
  for (const step of steps) await step(made)
  return made
}

/** The way to bring a Run into each status. */
const states = {
  queued,
  dispatching: () => after(queued(), claim),
  running: () => after(queued(), claim, begin),
  awaiting: () =>
    after(queued(), claim, begin, async ({ runId }) => {
      await context.db.query("update runs set status = 'awaiting' where id = $1", [runId])
    }),
  completed: () => after(queued(), claim, begin, end('completed')),
  failed: () => after(queued(), claim, begin, end('failed')),
  cancelled: () => after(queued(), cancel),
  crashed: () => after(queued(), claim, begin, end('crashed')),
}

const run = (subject: Subject): Promise<Run> => test.api.run(subject.session.id, subject.runId)

/** The status, and whether a cancellation was requested. */
const brief = ({ status, cancellationRequested }: Run) =>
  status + (cancellationRequested && status !== 'cancelled' ? ', to stop' : '')

/**
 * The effect of each command in each status; a dot leaves the Run as it is. Claiming, taking over, beginning, losing,
 * completing and failing are a worker's commands; the others are callers'.
 */
const table: Record<keyof typeof states, Record<keyof typeof commands, string>> = {
  // biome-ignore format: a table
  queued:      { claim: 'dispatching', takeOver: '.', begin: '.',       lose: '.',      complete: '.',         fail: '.',      cancel: 'cancelled',            archive: 'cancelled' },
  // biome-ignore format: a table
  dispatching: { claim: '.',           takeOver: '.', begin: 'running', lose: 'queued', complete: 'completed', fail: 'failed', cancel: 'dispatching, to stop', archive: 'cancelled' },
  // biome-ignore format: a table
  running:     { claim: '.',           takeOver: '.', begin: '.',       lose: 'queued', complete: 'completed', fail: 'failed', cancel: 'running, to stop',     archive: 'cancelled' },
  // biome-ignore format: a table
  awaiting:    { claim: '.',           takeOver: '.', begin: 'running', lose: 'queued', complete: 'completed', fail: 'failed', cancel: 'cancelled',            archive: 'cancelled' },
  // biome-ignore format: a table
  completed:   { claim: '.',           takeOver: '.', begin: '.',       lose: '.',      complete: '.',         fail: '.',      cancel: '.',                    archive: '.' },
  // biome-ignore format: a table
  failed:      { claim: '.',           takeOver: '.', begin: '.',       lose: '.',      complete: '.',         fail: '.',      cancel: '.',                    archive: '.' },
  // biome-ignore format: a table
  cancelled:   { claim: '.',           takeOver: '.', begin: '.',       lose: '.',      complete: '.',         fail: '.',      cancel: '.',                    archive: '.' },
  // biome-ignore format: a table
  crashed:     { claim: '.',           takeOver: '.', begin: '.',       lose: '.',      complete: '.',         fail: '.',      cancel: '.',                    archive: '.' },
}

const cells = Object.entries(table).flatMap(([status, row]) =>
  Object.entries(row).map(([command, expected]) => ({
    status: status as keyof typeof states,
    command: command as keyof typeof commands,
    expected: expected === '.' ? status : expected,
  })),
)

describe('a run', () => {
  it.each(cells)('in status $status becomes $expected by $command', async ({ status, command, expected }) => {
    const subject = await states[status]()
    expect((await run(subject)).status).toBe(status)
    await commands[command](subject)
    const now = await run(subject)
    expect(brief(now)).toBe(expected)
    const terminal = (await test.api.events(subject.session.id)).filter(isTerminal)
    expect(terminal.map(event => event.data['status'])).toEqual(now.endedAt === undefined ? [] : [now.status])
  })
})

it('a run ends once, even if its end is reported twice', async () => {
  const { session, runId } = await states.queued()
  const ends = await context.db.transaction(async tx => {
    const twice = []
    for (const status of ['cancelled', 'completed'] as const) {
      twice.push(await endRun(tx, keyOf(session), runId, { status }, new Date()))
    }
    return twice
  })
  expect(ends).toEqual([true, false])
  const terminal = (await test.api.events(session.id)).filter(isTerminal)
  expect(terminal.map(event => event.data['status'])).toEqual(['cancelled'])
})

describe('a claim', () => {
  it('is useless to its old holder once another has taken it over', async () => {
    const subject = await states.running()
    const lost = { ...subject }
    await takeOver(subject)
    expect(subject.claim?.token).toBe((lost.claim?.token ?? 0) + 1)
    for (const command of [lose, end('completed'), end('crashed')]) await command(lost)
    expect((await run(subject)).status).toBe('running')
    await end('completed')(subject)
    expect((await run(subject)).status).toBe('completed')
  })
})

/** Facts that each decide alone how a lost attempt ends. */
const facts = {
  'did nothing yet': async () => {},
  'made a tool call': async ({ runId }: Subject) => {
    await context.db.query('update runs set tool_calls = 1 where id = $1', [runId])
  },
  'was the last that is allowed': async ({ runId }: Subject) => {
    await context.db.query('update runs set attempts = 3 where id = $1', [runId])
  },
  'is to stop': cancel,
}

describe('a lost attempt', () => {
  it.each([
    ['did nothing yet', false, 'queued'],
    ['did nothing yet', true, 'queued'],
    ['made a tool call', false, 'crashed'],
    ['made a tool call', true, 'crashed'],
    ['was the last that is allowed', false, 'crashed'],
    ['was the last that is allowed', true, 'crashed'],
    ['is to stop', false, 'cancelled'],
    ['is to stop', true, 'cancelled'],
  ] as const)('and %s, its sandbox gone with it: %s, leaves the run %s', async (fact, sandboxLost, expected) => {
    const subject = await states.running()
    await facts[fact](subject)
    await lose(subject, { sandboxLost })
    expect((await run(subject)).status).toBe(expected)
  })

  it.each([
    [false, 'queued'],
    [true, 'crashed'],
  ])('after an earlier run whose sandbox is gone: %s, leaves the run %s', async (sandboxLost, expected) => {
    const earlier = await states.running()
    await end('completed')(earlier)
    // Stands for the lease that an earlier run leaves behind.
    await context.db.query('update sessions set first_run_started_at = null where id = $1', [earlier.session.id])
    const { run: next } = await test.api.submitTurn(earlier.session.id, 'true')
    const subject = await after(Promise.resolve({ ...earlier, runId: next.id }), claim, begin)
    await lose(subject, { sandboxLost })
    expect((await run(subject)).status).toBe(expected)
  })

  it('is not restarted at once, and later by the first worker that comes', async () => {
    const subject = await states.running()
    await lose(subject)
    const { attempts } = await until('another attempt', async () => {
      await claim(subject)
      const now = await run(subject)
      return now.status === 'dispatching' && now
    })
    expect(attempts).toBe(2)
  })
})
