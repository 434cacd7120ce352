import type { Session } from '@berth/contract'
import { activitiesOf, type EndedRun, messagesOf, outcomeOf } from '@berth/testing/runs/ended-run.ts'
import { until } from '@berth/testing/until.ts'
import { Resuming } from '@berth/testing/workspaces/resuming.ts'
import { touch } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'

let bench: Resuming
beforeAll(async () => {
  bench = await Resuming.open()
})
afterAll(() => bench[Symbol.asyncDispose]())

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

const truncations = ({ events }: EndedRun) =>
  events.filter(({ type }) => type === 'svc.timeline.truncated').map(({ data }) => data)

async function spentOf(session: Session): Promise<{ events: number; bytes: number; dropped: number } | undefined> {
  const { rows } = await bench.test.db.database.query<{ events: number; bytes: number; dropped: number }>(
    `select event_count as events, event_bytes as bytes, dropped_events as dropped from runs
     where session_id = $1 order by queued_at desc limit 1`,
    [session.id],
  )
  return rows[0]
}

describe('a Run that has spent its budget of Events', () => {
  it('has failed with its code, has ended every reported tool call, and reports how much is missing', async () => {
    await bench.work(stack, { limits: { runEvents: 40 } })
    // Each call takes three Events.
    const ended = await bench.sealed('scripted', 'open lasting\ntools 500\nhang')
    expect(outcomeOf(ended)).toBe('failed max_response event_budget 1')
    const [truncation, ...more] = truncations(ended)
    expect(more).toEqual([])
    const counted = ended.events.filter(({ type }) => type === 'svc.run.progress' || type === 'svc.activity.completed')
    // The agent may be stopped before it has sent all of its output.
    expect(truncation).toEqual({ droppedEvents: (await spentOf(ended.session))?.dropped, reason: 'event_budget' })
    expect(truncation?.['droppedEvents']).toBeGreaterThan(0)
    expect(counted.length).toBeLessThanOrEqual(40 + 4)
    const titles = activitiesOf(ended).map(({ title }) => title)
    expect(titles).toEqual(expect.arrayContaining(['lasting', 'step 1']))
    expect(titles).not.toContain('step 100')
    // The next Run has its own budget.
    expect(messagesOf(await bench.next(ended.session, 'say on'))).toMatchObject([{ text: 'on' }])
  })

  it('also ends by the bytes', async () => {
    await bench.work(stack, { limits: { runEventBytes: 50_000 } })
    const ended = await bench.sealed('scripted', `${`say ${'x'.repeat(4_000)}\ntool a\n`.repeat(20)}hang`)
    expect(outcomeOf(ended)).toBe('failed max_response event_budget 1')
  })

  it('keeps the spending under its previous worker', async () => {
    const before = new AsyncDisposableStack()
    await bench.work(before, { limits: { runEvents: 40, fenceMs: 600_000 } })
    const session = await bench.api.createSession({ runtime: 'scripted' }, 'tools 10\nwait go\ntools 10\nhang')
    await until('the first calls', async () => (await spentOf(session))?.events === 30)
    await before.disposeAsync()
    await bench.work(stack, { limits: { runEvents: 40 } })
    await touch(bench.test.db.database, bench.test.dataDir, session, 'go')
    const ended = await bench.settled(session)
    expect(outcomeOf(ended)).toBe('failed max_response event_budget 1')
    expect(await spentOf(session)).toMatchObject({ dropped: Number(truncations(ended)[0]?.['droppedEvents']) })
  })

  it('is ended by a worker that takes it over with nothing left to spend', async () => {
    const before = new AsyncDisposableStack()
    await bench.work(before, { limits: { fenceMs: 600_000 } })
    const session = await bench.api.createSession({ runtime: 'scripted' }, 'open lasting\ntools 10\nhang')
    await until('the calls', async () => (await spentOf(session))?.events === 31)
    await before.disposeAsync()
    await bench.work(stack, { limits: { runEvents: 20 } })
    expect(outcomeOf(await bench.settled(session))).toBe('failed max_response event_budget 1')
  })

  it('counts the questions to people', async () => {
    await bench.work(stack, { limits: { runEvents: 10 } })
    const ended = await bench.sealed('scripted', 'asks 100')
    expect(outcomeOf(ended)).toBe('failed max_response event_budget 1')
    const { rows } = await bench.test.db.database.query('select 1 from interactions where session_id = $1', [
      ended.session.id,
    ])
    expect(rows.length).toBeLessThanOrEqual(10)
  })
})
