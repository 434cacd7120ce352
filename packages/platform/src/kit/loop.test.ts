import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { backoffMs } from './backoff.ts'
import { Loop } from './loop.ts'
import { LoopingService } from './looping-service.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const ms = () => performance.now()

/** Returns the pauses between the calls of a loop within a time, whose work fails while `fails` says so. */
async function pausesOf(intervalMs: number, withinMs: number, fails: (call: number) => boolean): Promise<number[]> {
  const calls: number[] = []
  await using loop = new Loop(
    async () => {
      calls.push(ms())
      if (fails(calls.length)) throw new Error('the database is away')
    },
    intervalMs,
    () => undefined,
    () => 1,
  )
  loop.wake()
  await vi.advanceTimersByTimeAsync(withinMs)
  return calls.slice(1).map((at, n) => Math.round(at - (calls[n] ?? 0)))
}

describe('a pause after failures', () => {
  test('doubles up to the longest, and half of it is drawn', () => {
    expect([1, 2, 3, 4, 9, 9_999].map(failures => backoffMs(failures, 100, 1_000, () => 1))).toEqual([
      100, 200, 400, 800, 1_000, 1_000,
    ])
    expect([1, 2, 9].map(failures => backoffMs(failures, 100, 1_000, () => 0))).toEqual([50, 100, 500])
  })
})

describe('a loop', () => {
  test('keeps its interval while its work succeeds, or fails now and then', async () => {
    expect(await pausesOf(500, 5_000, call => call % 4 !== 0)).toEqual(Array(10).fill(500))
  })

  test('pauses longer each time while its work keeps failing, and as before once it succeeds', async () => {
    const pauses = await pausesOf(500, 21_000, call => call <= 9)
    // A claim lapses after four missed renewals: until then each comes in time.
    expect(pauses.slice(0, 4)).toEqual(Array(4).fill(500))
    expect(pauses.slice(4, 9)).toEqual([1_000, 2_000, 4_000, 5_000, 5_000])
    expect(new Set(pauses.slice(9))).toEqual(new Set([500]))
  })

  test('whose interval is longer than any pause keeps it', async () => {
    expect(await pausesOf(60_000, 600_000, () => true)).toEqual(Array(10).fill(60_000))
  })

  test('that is woken works at once, however often it failed', async () => {
    let calls = 0
    await using loop = new Loop(
      async () => {
        calls += 1
        throw new Error('the database is away')
      },
      500,
      () => undefined,
      () => 1,
    )
    loop.wake()
    await vi.advanceTimersByTimeAsync(10_000)
    const before = calls
    loop.wake()
    expect(calls).toBe(before + 1)
  })
})

test('a service that repeats a round, such as a heartbeat or a chore, pauses longer each time too', async () => {
  const rounds: number[] = []
  class Heartbeat extends LoopingService {
    readonly name = 'heartbeat'
    protected async round(): Promise<void> {
      rounds.push(ms())
      throw new Error('the database is away')
    }
    protected failed(): void {}
  }
  await using service = new Heartbeat(100)
  await service.start()
  await vi.advanceTimersByTimeAsync(60_000)
  const last = rounds.slice(-2)
  expect(rounds.length).toBeLessThan(40)
  expect((last[1] ?? 0) - (last[0] ?? 0)).toBeGreaterThanOrEqual(2_500)
})
