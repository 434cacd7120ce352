import type { Wakeups } from '@berth/platform/storage/postgres/wakeups.ts'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Deliverer } from './deliverer.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

it('polls rarely while wake-ups arrive, often while they do not, and at once when one comes', async () => {
  let live = true
  let wake = (_topic: string | null) => {}
  const wakeups: Wakeups = {
    get live() {
      return live
    },
    publish() {},
    subscribe(_topic, listener) {
      wake = listener
      return () => {}
    },
    known: async () => {},
  }
  let claims = 0
  const queue = {
    name: 'nothing',
    concurrency: 1,
    claim: async () => {
      claims += 1
      return []
    },
  }
  const context = { clock: { now: () => new Date() }, wakeups, log: pino({ level: 'silent' }) }
  // bound: a pause between two looks
  await using deliverer = new Deliverer(context, [queue], { claimMs: 60_000, pollMs: 500 })
  await deliverer.start()
  await vi.advanceTimersByTimeAsync(1_999)
  expect(claims).toBe(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(claims).toBe(2)
  wake('d')
  await vi.advanceTimersByTimeAsync(0)
  expect(claims).toBe(3)
  live = false
  wake(null)
  await vi.advanceTimersByTimeAsync(1_500)
  expect(claims).toBe(7)
})
