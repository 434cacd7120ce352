import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Context } from '../../context.ts'
import { PreviewWriter } from './preview-writer.ts'

beforeEach(() => void vi.useFakeTimers({ now: 0 }))
afterEach(() => void vi.useRealTimers())

const key = { organizationId: 'o', sessionId: 's' }

/** A writer whose agent says one word more every 10 ms, and the times at which it wrote. */
function speaking(isWatched: () => boolean) {
  const writtenAt: number[] = []
  let notified = 0
  const context = {
    clock: { now: () => new Date() },
    db: {
      query: async ({ name }: { name: string }) => {
        if (name === 'write-preview') writtenAt.push(Date.now())
        return { rows: [], rowCount: isWatched() ? 1 : 0 }
      },
    },
    wakeups: { publish: () => (notified += 1) },
    log: { debug: () => {} },
  } as unknown as Pick<Context, 'db' | 'clock' | 'wakeups' | 'log'>
  let text = ''
  const snapshot = () => ({ message: { messageId: 'm', role: 'assistant' as const, text }, activities: [] })
  const writer = new PreviewWriter(context, key, 'r', snapshot)
  const speak = async (ms: number) => {
    for (let at = 0; at < ms; at += 10) {
      text += ' word'
      writer.changed()
      await vi.advanceTimersByTimeAsync(10)
    }
  }
  return { writer, writtenAt, speak, notified: () => notified }
}

test('a preview is written at most every 150 ms, however fast the agent speaks', async () => {
  const { writtenAt, speak, notified } = speaking(() => true)
  await speak(1_000)
  const gaps = writtenAt.slice(1).map((at, before) => at - (writtenAt[before] ?? 0))
  expect(writtenAt.length).toBeGreaterThan(5)
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(150)
  expect(notified()).toBe(writtenAt.length)
})

test('a writer that nobody watches tries every five seconds, and at once when somebody comes', async () => {
  let isWatched = false
  const { writer, writtenAt, speak, notified } = speaking(() => isWatched)
  await speak(9_000)
  expect([writtenAt.length, notified()]).toEqual([2, 0])
  isWatched = true
  writer.watched()
  await vi.advanceTimersByTimeAsync(0)
  expect(notified()).toBe(1)
})

test('a preview goes with its writer, which writes no more', async () => {
  const { writer, writtenAt, speak, notified } = speaking(() => true)
  await speak(200)
  const before = notified()
  await writer[Symbol.asyncDispose]()
  expect(notified()).toBe(before + 1)
  const { length } = writtenAt
  await speak(1_000)
  expect(writtenAt).toHaveLength(length)
})
