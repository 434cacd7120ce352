import type { Event } from '@berth/client'
import { describe, expect, test } from 'vitest'
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
  const asked: number[] = []
  const arrived: Event[] = []
  let wake = () => {}
  let followers = 0
  const source: LogSource = {
    async page(after) {
      asked.push(after)
      const end = Math.min(length, after + 100)
      return { events: Array.from({ length: end - after }, (_, at) => event(after + at + 1)), lastSequence: length }
    },
    async *follow(after, signal, onState) {
      followers++
      onState(true)
      let at = after
      signal.addEventListener('abort', () => wake())
      while (!signal.aborted) {
        const next = arrived.find(({ sequence }) => sequence === at + 1)
        if (next === undefined) await new Promise<void>(resolve => (wake = resolve))
        else {
          at++
          yield next
        }
      }
      followers--
    },
  }
  return {
    source,
    asked,
    append(...events: Event[]) {
      arrived.push(...events)
      wake()
    },
    followers: () => followers,
  }
}

const turns = async () => {
  for (let at = 0; at < 20; at++) await Promise.resolve()
}

describe('the log of a Session', () => {
  test('begins with its end, and goes back page by page to the first Event', async () => {
    const { source, asked } = scripted(250)
    const log = new SessionLog(source, work => work())
    const leave = log.subscribe(() => {})
    await turns()
    expect(log.read().view).toMatchObject({ first: 151, last: 250 })
    await log.loadOlder()
    await log.loadOlder()
    await log.loadOlder()
    expect(log.read().view).toMatchObject({ first: 1, last: 250 })
    expect(log.read().view.rows).toHaveLength(250)
    expect(asked).toEqual([0, 150, 50, 0])
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
    const { source, append, followers, asked } = scripted(2)
    const log = new SessionLog(source, work => work())
    log.subscribe(() => {})()
    await turns()
    expect(followers()).toBe(0)
    append(event(3))
    const leave = log.subscribe(() => {})
    await turns()
    expect(log.read()).toMatchObject({ connection: 'live', view: { last: 3 } })
    expect(asked.length).toBeLessThanOrEqual(2)
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

  test('tells a refusal, and loads nothing more', async () => {
    const refused = new Error('404')
    const source: LogSource = { page: () => Promise.reject(refused), async *follow() {} }
    const log = new SessionLog(source, work => work())
    const leave = log.subscribe(() => {})
    await turns()
    expect(log.read()).toMatchObject({ failure: refused, connection: 'closed' })
    leave()
  })
})
