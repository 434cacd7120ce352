import { existsSync } from 'node:fs'
import type { Session } from '@berth/contract'
import { resumeRun } from '@berth/core/sessions/runs/resume-run.ts'
import { activitiesOf, messagesOf, outcomeOf } from '@berth/testing/runs/ended-run.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import { until } from '@berth/testing/until.ts'
import { Resuming } from '@berth/testing/workspaces/resuming.ts'
import { leaseOf, workspacePath } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { adoptLapsed } from '../../src/claim/claim-sql.ts'
import { parkRun } from '../../src/workspace/park-run.ts'

let bench: Resuming
let stack: AsyncDisposableStack
beforeAll(async () => {
  bench = await Resuming.open()
})
afterAll(() => bench[Symbol.asyncDispose]())
beforeEach(() => {
  stack = new AsyncDisposableStack()
})
afterEach(() => stack.disposeAsync())

const leaseId = (session: Session) => leaseOf(bench.test.db.database, session)
const hasFile = async (session: Session, name: string) =>
  existsSync(await workspacePath(bench.test.db.database, bench.test.dataDir, session, name).catch(() => ''))
const hasProgress = async (session: Session) =>
  (await bench.api.events(session.id)).some(({ type }) => type === 'svc.run.progress')
const outputOf = (run: Parameters<typeof activitiesOf>[0]) => activitiesOf(run).map(activity => activity['output'])

/** Makes the Session's lease an hour old, with this much time left. */
const leave = (session: Session, seconds: number) =>
  bench.test.db.database.query(
    `update leases set created_at = now() - interval '1 hour', bound_at = now() + $2 * interval '1 second',
       expires_at = now() + least($2, 60) * interval '1 second'
     where session_id = $1 and ended_at is null`,
    [session.id, seconds],
  )

/** No sweeper runs. */
const unswept = { limits: { sweepMs: 600_000 } }

describe('a turn on a lease', () => {
  it.each([
    ['close to its bound', 300],
    ['past its bound that nobody has swept', -1],
  ])('%s begins on a fresh one with the sealed work', async (_, seconds) => {
    await bench.work(stack, unswept)
    const { session } = await bench.sealed('shell', 'echo kept > note')
    const first = await leaseId(session)
    await leave(session, seconds)
    const next = await bench.next(session, 'cat note')
    expect([outcomeOf(next), outputOf(next)]).toEqual(['completed completed - 1', ['kept\n']])
    expect(await leaseId(session)).not.toBe(first)
    const expired = (await bench.api.events(session.id)).filter(({ type }) => type === 'svc.workspace.expired')
    expect(expired.map(({ data }) => data['leaseId'])).toEqual([first])
  })

  it('close to its bound stays on it if only that sandbox holds the work of an earlier run', async () => {
    await bench.work(stack, unswept)
    const { session } = await bench.sealed('scripted', 'say one')
    expect(outcomeOf(await bench.next(session, 'tool a\ncrash'))).toMatch(/^crashed engine_unreachable/)
    const first = await leaseId(session)
    await leave(session, 300)
    expect(outcomeOf(await bench.next(session, 'say three'))).toBe('completed completed - 1')
    expect(await leaseId(session)).toBe(first)
  })

  it('that lasts longer than its idle time keeps extending the deadline', async () => {
    // bound: it is to be over; a lease with a Run does not end
    await bench.work(stack, { limits: { leaseIdleMs: 900 } })
    const session = await bench.api.createSession({ runtime: 'shell' }, 'sleep 600')
    const early = await until('an attached workspace', async () => {
      const { phase, workspace } = await bench.api.session(session.id)
      return phase === 'running' && (workspace.expiresAt ?? '')
    })
    await until('a later deadline', async () => {
      const { expiresAt } = (await bench.api.session(session.id)).workspace
      return Date.parse(expiresAt ?? '') > Date.parse(early) + 500
    })
    await bench.api.call('POST', `/v1/sessions/${session.id}/runs/${session.activeRunId}/cancel`)
    await bench.settled(session)
  })
})

describe('a run that reaches the bound of its lease', () => {
  it.each([
    ['shell', 'echo kept > new; mv new note; touch begun; sleep 600', 'exact', 'cat note', 'kept\n'],
    ['remembering', 'remember harbour\ntool a\nhang', 'exact', 'recall', 'loaded: harbour'],
    ['remembering', 'remember quay\nignore-cancel\nopen a\nhang', 'result_only', null, ''],
  ])('crashes, and its work is kept: %s, %j', async (runtime, message, fidelity, command, found) => {
    const before = stack.use(new AsyncDisposableStack())
    await bench.work(before)
    const session = await bench.api.createSession({ runtime }, message)
    await until('its work', () => (runtime === 'shell' ? hasFile(session, 'begun') : hasProgress(session)))
    // Its work has to end five minutes ahead of the bound, of which the next worker learns.
    await before.disposeAsync()
    await bench.test.db.database.query(
      `update leases set created_at = now() - interval '10 hours', bound_at = now() + interval '4 minutes'
       where session_id = $1`,
      [session.id],
    )
    await bench.work(stack, { limits: { cancelGraceMs: 4_000 } })
    const ended = await bench.settled(session)
    const { run } = ended
    expect(activitiesOf(ended)).toMatchObject([{ status: message.includes('tool a') ? 'succeeded' : 'failed' }])
    expect(outcomeOf(ended)).toBe('crashed execution_deadline turn_execution_lost 1')
    expect((await bench.expire(session)).continuation).toEqual({
      canContinue: true,
      state: 'restorable',
      conversation: { fidelity },
      workspace: { fidelity: 'portable_tree' },
      sealedByRunId: run.id,
    })
    // This agent would execute everything that it is told.
    if (command === null) return
    const next = await bench.next(session, command)
    const outputs = [...outputOf(next), ...messagesOf(next).map(({ text }) => text)].map(String)
    expect(outputs.at(-1)).toContain(found)
  })
})

describe('a run that awaits an answer', () => {
  const { fenceMs, pollMs } = { fenceMs: 600_000, pollMs: 600_000 }

  it('is parked with its work sealed and its sandbox released, and continues in another', async () => {
    const worker = new AsyncDisposableStack()
    await bench.work(worker, { limits: { fenceMs } })
    const session = await bench.api.createSession(
      { runtime: 'shell' },
      'echo asked > note; berth-present note; sleep 600',
    )
    await until('work', async () => (await bench.api.session(session.id)).phase === 'running' && hasProgress(session))
    await worker.disposeAsync()
    const first = await leaseId(session)

    const context = await workerContext(bench.test, stack, { limits: { fenceMs, pollMs } })
    const { db } = context
    await db.query("update runs set status = 'awaiting' where id = $1", [session.activeRunId])
    await db.query("update executions set expires_at = 'epoch' where session_id = $1", [session.id])
    const now = new Date()
    const by = { holder: 'parker', hosts: [context.host], now, expiresAt: new Date(now.getTime() + fenceMs) }
    const [claim] = (await adoptLapsed(db, by, 10)).filter(({ sessionId }) => sessionId === session.id)
    if (claim === undefined) throw new Error('no claim')
    expect(await parkRun(context, claim, new AbortController().signal)).toBe('parked')

    const parked = await bench.api.session(session.id)
    expect(parked).toMatchObject({
      phase: 'awaiting',
      activeRunId: claim.runId,
      workspace: { state: 'expired' },
      continuation: { canContinue: true, state: 'restorable', sealedByRunId: claim.runId },
    })
    const events = await bench.api.events(session.id)
    expect(events.slice(-2).map(({ type }) => type)).toEqual(['svc.artifact.created', 'svc.workspace.expired'])
    // A worker that died after the commit but counts as alive changes nothing.
    await expect(parkRun(context, claim, new AbortController().signal)).resolves.toBe('awake')

    // Takes the answer as the API does; the script starts again in the workspace that it left.
    await db.query(
      `update turns set message = 'cat note; echo answered > note; berth-present note' where session_id = $1`,
      [session.id],
    )
    await db.transaction(tx => resumeRun(tx, claim, claim.runId, new Date()))
    await bench.work(stack)
    const ended = await bench.settled(session)
    expect([ended.run.status, outputOf(ended).at(-1)]).toEqual(['completed', 'asked\npresented note\n'])
    expect(await leaseId(session)).not.toBe(first)
    expect(ended.events.filter(({ data }) => data['kind'] === 'presented_file')).toHaveLength(2)
    // The last seal of the Run has replaced the one from its parking.
    await bench.expire(session)
    expect(outputOf(await bench.next(session, 'cat note'))).toEqual(['answered\n'])
  })
})
