import type { Event, Preview } from '@berth/client'
import { describe, expect, test } from 'vitest'
import type { SessionSink } from '../live/live-connection.ts'
import { type LogSource, SessionLog } from './session-log.ts'

const event = (sequence: number): Event => ({
  id: String(sequence),
  type: 'svc.message.created',
  createdAt: '2026-01-01T00:00:00Z',
  sequence,
  subject: { sessionId: 's' },
  data: { messageId: String(sequence), role: 'assistant', text: String(sequence) },
})

/** A log of `length` Events, to which the test appends. */
function scripted(length: number) {
  const requested: number[] = []
  const arrived: Event[] = []
  const sinks = new Set<SessionSink>()
  const source: LogSource = {
    async end() {
      const after = Math.max(0, length - 100)
      requested.push(after)
      return Array.from({ length: length - after }, (_, at) => event(after + at + 1))
    },
    async page(after) {
      requested.push(after)
      return Array.from({ length: Math.min(length, after + 100) - after }, (_, at) => event(after + at + 1))
    },
    async range(after, last) {
      requested.push(after)
      return Array.from({ length: last - after }, (_, at) => event(after + at + 1))
    },
    follow(sink) {
      sinks.add(sink)
      sink.connected(true)
      for (const event of arrived) if (event.sequence > sink.cursor()) sink.event(event)
      return () => sinks.delete(sink)
    },
  }
  return {
    source,
    requested,
    append(...events: Event[]) {
      arrived.push(...events)
      for (const sink of sinks) for (const event of events) sink.event(event)
    },
    preview(preview: Preview | null) {
      for (const sink of sinks) sink.preview(preview)
    },
    followers: () => sinks.size,
  }
}

const turns = async () => {
  for (let at = 0; at < 20; at++) await Promise.resolve()
}

describe('the log of a Session', () => {
  test('begins with its end, and goes back page by page to the first Event', async () => {
    const { source, requested } = scripted(250)
    const log = new SessionLog(source, work => work())
    const leave = log.subscribe(() => {})
    await turns()
    expect(log.read().view).toMatchObject({ first: 151, last: 250 })
    await log.loadOlder()
    await log.loadOlder()
    await log.loadOlder()
    expect(log.read().view).toMatchObject({ first: 1, last: 250 })
    expect(log.read().view.rows).toHaveLength(250)
    expect(requested).toEqual([150, 50, 0])
    leave()
  })

  test('reaches an Event far back in one request, and says if it cannot', async () => {
    const { source, requested } = scripted(5_000)
    const log = new SessionLog(source, work => work())
    const leave = log.subscribe(() => {})
    await turns()
    expect(await log.reach(1_000)).toBe(true)
    expect(log.read().view).toMatchObject({ first: 970, last: 5_000 })
    expect(log.read().view.rows).toHaveLength(4_031)
    expect(await log.reach(4_000)).toBe(true)
    expect(await log.reach(5_001)).toBe(false)
    expect(requested).toEqual([4_900, 969])
    source.range = () => Promise.reject(new Error('gone'))
    expect(await log.reach(10)).toBe(false)
    expect(log.read().loadingOlder).toBe(false)
    leave()
  })

  test('adds a burst of Events in one change', async () => {
    const { source, append } = scripted(1)
    const frames: (() => void)[] = []
    const log = new SessionLog(source, work => frames.push(work))
    let changes = 0
    const leave = log.subscribe(() => changes++)
    await turns()
    const before = changes
    append(event(2), event(3), event(4))
    await turns()
    expect([changes - before, frames.length]).toEqual([0, 1])
    frames[0]?.()
    expect([changes - before, log.read().view.last]).toEqual([1, 4])
    leave()
  })

  test('is followed only while somebody looks, and goes on where it was', async () => {
    const { source, append, followers, requested } = scripted(2)
    const log = new SessionLog(source, work => work())
    log.subscribe(() => {})()
    await turns()
    expect(followers()).toBe(0)
    append(event(3))
    const leave = log.subscribe(() => {})
    await turns()
    expect(log.read()).toMatchObject({ connection: 'live', view: { last: 3 } })
    expect(requested.length).toBeLessThanOrEqual(2)
    leave()
  })

  test('survives that one subscriber takes the place of another', async () => {
    const { source, followers } = scripted(2)
    const log = new SessionLog(source, work => work())
    const first = log.subscribe(() => {})
    await turns()
    first()
    const second = log.subscribe(() => {})
    await turns()
    expect(followers()).toBe(1)
    second()
  })

  test('shows what is being said until the frame that shows its Event, and takes no Event twice', async () => {
    const { source, append, preview } = scripted(1)
    const frames: (() => void)[] = []
    const log = new SessionLog(source, work => frames.push(work))
    const leave = log.subscribe(() => {})
    await turns()
    const message = { messageId: '2', role: 'assistant', text: 'almost' } as const
    preview({ message, activities: [] })
    expect(log.read().preview).toEqual({ message, activities: [] })
    append(event(2), event(2))
    preview({ message: { ...message, text: 'late' }, activities: [] })
    expect(log.read().preview?.message).toEqual(message)
    frames[0]?.()
    expect(log.read()).toMatchObject({ preview: { activities: [] }, view: { last: 2 } })
    expect(log.read().preview).not.toHaveProperty('message')
    expect(log.read().view.rows).toHaveLength(2)
    leave()
  })

  test('tells a refusal, and loads nothing more', async () => {
    const refused = new Error('404')
    const refuse = () => Promise.reject(refused)
    const source: LogSource = { end: refuse, page: refuse, range: refuse, follow: () => () => {} }
    const log = new SessionLog(source, work => work())
    const leave = log.subscribe(() => {})
    await turns()
    expect(log.read()).toMatchObject({ failure: refused, connection: 'closed' })
    source.end = async () => [event(1)]
    log.retry()
    await turns()
    expect(log.read()).toMatchObject({ failure: null, view: { last: 1 } })
    leave()
  })
})
