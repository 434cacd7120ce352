import type { Session } from '@berth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { claimQueued } from '../../src/execution/claim/claim-queued-sql.ts'
import { adoptLapsed } from '../../src/execution/claim/claim-sql.ts'
import type { ExecutionContext } from '../../src/execution/claim/execution-context.ts'
import { Sweeper } from '../../src/execution/host/sweeper.ts'
import { executeRun } from '../../src/execution/run-execution.ts'
import { Applying, outputs, told, waitFor } from '../support/environments/applying.ts'
import { type CrashMode, CrashPoint } from '../support/faults/crash-point.ts'
import { outcomeOf } from '../support/runs/ended-run.ts'
import { workerContext } from '../support/services/worker-context.ts'
import { until } from '../support/until.ts'

const stack = new AsyncDisposableStack()
let applying: Applying
let context: ExecutionContext
beforeAll(async () => {
  applying = stack.use(await Applying.open())
  // Nothing here renews a claim: only the test lapses one.
  context = await workerContext(applying.resuming.test, stack, { limits: { fenceMs: 600_000, pulseMs: 100 } })
})
afterAll(() => stack.disposeAsync())

const by = (now: Date) => ({
  holder: 'worker',
  hosts: [context.host],
  now,
  expiresAt: new Date(now.getTime() + 600_000),
})

/** Lets a worker take up the queued Run of a Session. */
async function begin(session: Session, world = context, signal = new AbortController().signal): Promise<void> {
  const claims = await claimQueued(context.db, by(new Date()), 1000)
  const claim = claims.find(({ sessionId }) => sessionId === session.id)
  if (claim === undefined) throw new Error('no claim')
  await executeRun(world, claim, signal)
}

/** Lets healthy workers take over until the Session is at rest. */
async function takeOver(session: Session): Promise<void> {
  await until('the end of the session’s work', async () => {
    const { rows } = await applying.db.query<{ idle: boolean }>(
      `select not exists (select 1 from runs where session_id = $1 and ended_at is null)
        and not exists (select 1 from executions where session_id = $1 and task is not null) as idle`,
      [session.id],
    )
    if (rows[0]?.idle === true) return true
    await applying.db.query("update executions set expires_at = 'epoch' where session_id = $1 and task is not null", [
      session.id,
    ])
    const later = by(new Date(Date.now() + 60_000))
    const claims = [...(await adoptLapsed(context.db, later, 1)), ...(await claimQueued(context.db, later, 1))]
    await Promise.all(claims.map(claim => executeRun(context, claim, new AbortController().signal)))
    return false
  })
}

const count = 'echo once >> count; echo set up'
const look = 'cat count; wc -l < count'

describe('a worker that dies', () => {
  const points = [1, 2, 3, 4, 5, 6, 7].flatMap(at =>
    (['dies', 'fails', 'unanswered'] as const).map((mode): [number, CrashMode] => [at, mode]),
  )

  test.each(points)(
    'at step %i of an apply, if it %s, is followed by one that runs nothing twice',
    async (at, mode) => {
      const session = await applying.session(count, look)
      const point = new CrashPoint('apply', at, mode)
      await begin(session, point.world(context), point.signal)
      await takeOver(session)
      expect(point.struck).toBe(true)
      const { events, run } = await applying.resuming.ended(session)
      expect(run.status).toBe('completed')
      expect(outputs(events)).toEqual(['once\n1\n'])
      expect(await applying.told(session)).toEqual(['1 started', '1 succeeded'])
      expect(told(await applying.api.events(session.id))).toBe('set up\n')
    },
  )

  test('in mid-setup leaves setup running, and the next worker tells the rest of its output', async () => {
    const made = await applying.environments.make({ setup: `${count}; ${waitFor('go')}; echo "late $KEY1"` })
    await applying.environments.writeSecret(made.id, 'KEY1', 'a canary in its cage', made.revision)
    const session = await applying.sessionOf(made, `${look}; echo "$KEY1"`)
    const point = new CrashPoint('apply', 0, 'dies')
    const first = begin(session, point.world(context), point.signal)
    await applying.wrote(session, 'set up')
    const lease = await applying.lease(session)
    point.die()
    await first
    expect((await applying.api.session(session.id)).phase).toBe('provisioning')
    await new Sweeper(context).round()
    await applying.go(session)
    await takeOver(session)
    const { events } = await applying.resuming.ended(session)
    expect(outputs(events)).toEqual(['once\n1\n[secret]\n'])
    expect(await applying.told(session)).toEqual(['1 started', '1 succeeded'])
    const written = 'set up\nlate [secret]\n'
    expect(told(await applying.api.events(session.id))).toBe(written)
    expect((await applying.applies(session))[1]).toMatchObject({ leaseId: lease, outputTail: written })
  })

  test('again and again is charged, and the apply ends with the Run', async () => {
    const session = await applying.session(`echo begun; ${waitFor('never')}`, 'true')
    const point = new CrashPoint('apply', 0, 'dies')
    const first = begin(session, point.world(context), point.signal)
    await applying.wrote(session, 'begun')
    point.die()
    await first
    await applying.db.query('update runs set handovers = $2 where session_id = $1', [
      session.id,
      context.limits.maxHandovers,
    ])
    await takeOver(session)
    const ended = await applying.resuming.ended(session)
    expect(outcomeOf(ended)).toBe('crashed engine_unreachable turn_execution_lost 1')
    expect(await applying.told(session)).toEqual(['1 started', '1 failed apply_failed'])
  })
})
