import { getEventListeners } from 'node:events'
import type { Queryable, Result, Statement } from '@berth/platform/storage/postgres/database.ts'
import { describe, expect, test } from 'vitest'
import { SessionTail } from './session-tail.ts'

const key = { organizationId: 'o', sessionId: 's' }
const KEPT_BYTES = 512 * 1024
/** No log here is sealed. */
const none = { get: () => Promise.reject(new Error('no blobs')) }

/** A log in memory that answers the tail's statement; a test can hold its reads or let them fail. */
class MemoryLog implements Queryable {
  readonly envelopes: string[] = []
  reads = 0
  gate: Promise<void> = Promise.resolve()

  append(count: number, sizeBytes = 10): void {
    for (let n = 0; n < count; n += 1) this.envelopes.push('x'.repeat(sizeBytes))
  }

  async query<Row>(statement: string | Statement): Promise<Result<Row>> {
    this.reads += 1
    if (typeof statement === 'string') throw new Error('a statement with values was expected')
    const [, , limit, bytes, after] = statement.values as [string, string, number, number, number]
    const rows: { sequence: number; envelope: string }[] = []
    for (let n = after, taken = 0; n < this.envelopes.length && rows.length < limit && taken < bytes; n += 1) {
      const envelope = this.envelopes[n] ?? ''
      rows.push({ sequence: n + 1, envelope })
      taken += envelope.length
    }
    await this.gate
    return { rows: rows as Row[], rowCount: rows.length }
  }
}

/** Returns every frame that a tail keeps. */
function kept(tail: SessionTail) {
  for (let after = 0; after < tail.newest; after += 1) {
    const frames = tail.keptAfter(after)
    if (frames.length > 0) return frames
  }
  return []
}

const sequences = (frames: readonly { readonly sequence: number }[]) => frames.map(({ sequence }) => sequence)

describe('the frames that a tail keeps', () => {
  test('start right after a given position, if the tail has the next frame', async () => {
    const log = new MemoryLog()
    log.append(5)
    const tail = new SessionTail({ db: log, blobs: none }, key, 2)
    await tail.refresh()
    expect(tail.newest).toBe(5)
    const after = (position: number) => sequences(tail.keptAfter(position))
    expect([1, 2, 3, 4, 5, 6].map(after)).toEqual([[], [3, 4, 5], [4, 5], [5], [], []])
  })

  test('are none before the first read', () => {
    const tail = new SessionTail({ db: new MemoryLog(), blobs: none }, key, 7)
    expect([0, 6, 7, 8].map(position => tail.keptAfter(position))).toEqual([[], [], [], []])
  })

  test('are bounded in bytes, the oldest dropped first, without a gap', async () => {
    const log = new MemoryLog()
    const tail = new SessionTail({ db: log, blobs: none }, key, 0)
    for (let round = 0; round < 40; round += 1) {
      log.append(3, 40_000)
      await tail.refresh()
      const frames = kept(tail)
      expect(frames.reduce((sum, { bytes }) => sum + bytes.length, 0)).toBeLessThanOrEqual(KEPT_BYTES)
      expect(sequences(frames)).toEqual(frames.map((_, n) => tail.newest - frames.length + 1 + n))
    }
    expect([tail.newest, kept(tail).length]).toEqual([120, 13])
  })

  test('exclude a frame that is larger than the bound, but not the frames after it', async () => {
    const log = new MemoryLog()
    const tail = new SessionTail({ db: log, blobs: none }, key, 0)
    log.append(1)
    log.append(1, KEPT_BYTES)
    await tail.refresh()
    expect([tail.newest, sequences(kept(tail))]).toEqual([2, []])
    log.append(1)
    await tail.refresh()
    expect(sequences(kept(tail))).toEqual([3])
    expect(tail.keptAfter(1)).toEqual([])
  })

  test('have the form that clients read', async () => {
    const log = new MemoryLog()
    log.envelopes.push('{"a":"täglich"}')
    const tail = new SessionTail({ db: log, blobs: none }, key, 0)
    await tail.refresh()
    expect(Buffer.from(tail.keptAfter(0)[0]?.bytes ?? []).toString()).toBe('id: 1\ndata: {"a":"täglich"}\n\n')
  })
})

describe('a refresh', () => {
  test('reads on while pages are full, by their number of events or by their bytes', async () => {
    const many = new MemoryLog()
    many.append(450)
    const large = new MemoryLog()
    large.append(12, 300_000)
    for (const [log, reads] of [
      [many, 3],
      [large, 4],
    ] as const) {
      const tail = new SessionTail({ db: log, blobs: none }, key, 0)
      await tail.refresh()
      expect([tail.newest, log.reads]).toEqual([log.envelopes.length, reads])
    }
  })

  test('causes one more read if another is active, however many callers ask', async () => {
    const log = new MemoryLog()
    const held = Promise.withResolvers<void>()
    log.gate = held.promise
    const tail = new SessionTail({ db: log, blobs: none }, key, 0)
    const first = tail.refresh()
    log.append(1)
    const others = [tail.refresh(), tail.refresh(), tail.refresh()]
    expect(log.reads).toBe(1)
    held.resolve()
    await Promise.all([first, ...others])
    expect([log.reads, tail.newest]).toEqual([2, 1])
  })

  test('finds the events appended before it, at any moment around the end of another', async () => {
    for (let moment = 0; moment < 20; moment += 1) {
      const log = new MemoryLog()
      const held = Promise.withResolvers<void>()
      log.gate = held.promise
      const tail = new SessionTail({ db: log, blobs: none }, key, 0)
      const first = tail.refresh()
      held.resolve()
      for (let step = 0; step < moment; step += 1) await undefined
      log.append(1)
      await tail.refresh()
      await first
      expect([moment, tail.newest]).toEqual([moment, 1])
    }
  })

  test('makes up for one that failed', async () => {
    const log = new MemoryLog()
    log.append(1)
    const tail = new SessionTail({ db: log, blobs: none }, key, 0)
    log.gate = Promise.reject(new Error('away'))
    await expect(tail.refresh()).rejects.toThrow('away')
    log.gate = Promise.resolve()
    await tail.refresh()
    expect(tail.newest).toBe(1)
  })
})

describe('waiting for a position to be passed', () => {
  test('ends when the tail passes it, not before', async () => {
    const log = new MemoryLog()
    const tail = new SessionTail({ db: log, blobs: none }, key, 0)
    let passed = false
    const waiting = tail.passed(1, new AbortController().signal).then(() => {
      passed = true
    })
    log.append(1)
    await tail.refresh()
    expect(passed).toBe(false)
    log.append(1)
    await tail.refresh()
    await waiting
    await tail.passed(1, new AbortController().signal)
  })

  test('ends when its signal aborts', async () => {
    const tail = new SessionTail({ db: new MemoryLog(), blobs: none }, key, 0)
    await tail.passed(0, AbortSignal.abort())
    const end = new AbortController()
    const waiting = tail.passed(0, end.signal)
    end.abort()
    await waiting
  })

  test('leaves no listener on a signal that outlives it', async () => {
    const log = new MemoryLog()
    const tail = new SessionTail({ db: log, blobs: none }, key, 0)
    const { signal } = new AbortController()
    for (let n = 0; n < 100; n += 1) {
      const waiting = tail.passed(n, signal)
      log.append(1)
      await tail.refresh()
      await waiting
    }
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})
