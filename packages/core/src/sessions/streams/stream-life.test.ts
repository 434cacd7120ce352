import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Principal } from '../../identity/guard/principal.ts'
import { type StreamLife, type StreamRequest, withLife } from './stream-life.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const life: StreamLife = { minMs: 300_000, maxMs: 600_000, authorityMs: 10_000, random: () => 0.5 }
const clock = { now: () => new Date() }

const principal = (expiresAt: Date | null): Principal => ({
  kind: 'app_installation',
  id: 'i',
  organizationId: 'o',
  capabilities: new Set(),
  expiresAt,
})

/** Yields nothing until its signal aborts. */
async function* silence(signal: AbortSignal): AsyncGenerator<Uint8Array> {
  if (!signal.aborted) await new Promise(resolve => signal.addEventListener('abort', resolve))
}

/** Runs a stream to its end and records when it ended, by the fake clock, and the text that it sent. */
function run(request: Partial<StreamRequest> & { expiresAt?: Date | null } = {}, changed: Partial<StreamLife> = {}) {
  const outcome: { endedAt: number | null; written: string } = { endedAt: null, written: '' }
  const start = Date.now()
  const stream: StreamRequest = {
    principal: principal(request.expiresAt ?? null),
    signal: new AbortController().signal,
    stillAuthorized: async () => true,
    ...request,
  }
  void (async () => {
    for await (const bytes of withLife(silence, stream, { ...life, ...changed }, clock)) {
      outcome.written += Buffer.from(bytes).toString()
    }
    outcome.endedAt = Date.now() - start
  })()
  return outcome
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

describe('a stream ends', () => {
  test.each([
    [0, 300_000],
    [0.5, 450_000],
    [0.999_999, 599_999],
  ])('at a random age, %f of the way from the minimum to the maximum', async (random, ageMs) => {
    const stream = run({}, { random: () => random })
    await pass(ageMs - 1)
    expect(stream.endedAt).toBeNull()
    await pass(2)
    expect(stream.endedAt).toBeGreaterThanOrEqual(ageMs)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('when its credential expires, if that is sooner', async () => {
    const sooner = run({ expiresAt: new Date(Date.now() + 7_000) })
    const later = run({ expiresAt: new Date(Date.now() + 900_000) })
    const over = run({ expiresAt: new Date(Date.now() - 1) })
    await pass(500_000)
    expect([sooner.endedAt, later.endedAt]).toEqual([7_000, 450_000])
    expect(over.endedAt).toBeLessThanOrEqual(1)
    for (const { written } of [sooner, later, over]) expect(written).toBe('retry: 500\n\n')
  })

  test.each([0, 0.3, 0.999_999_999])('with a request to return within a second, at random %f', async random => {
    const stream = run({}, { random: () => random })
    await pass(600_000)
    const retryMs = Number(/^retry: (\d+)\n\n$/.exec(stream.written)?.[1])
    expect(retryMs).toBeGreaterThanOrEqual(0)
    expect(retryMs).toBeLessThanOrEqual(1_000)
  })

  test('silently once its credential is revoked', async () => {
    const answers = [true, true, false]
    const stream = run({ stillAuthorized: async () => answers.shift() ?? true })
    await pass(29_999)
    expect(stream.endedAt).toBeNull()
    await pass(1)
    expect(stream).toEqual({ endedAt: 30_000, written: '' })
    expect(vi.getTimerCount()).toBe(0)
  })

  test('no sooner if its credential cannot be checked', async () => {
    const stream = run({ stillAuthorized: () => Promise.reject(new Error('away')) })
    await pass(449_999)
    expect(stream.endedAt).toBeNull()
    await pass(1)
    expect(stream).toEqual({ endedAt: 450_000, written: 'retry: 500\n\n' })
  })

  test('silently when its client has left', async () => {
    const client = new AbortController()
    const stream = run({ signal: client.signal })
    await pass(1_000)
    client.abort()
    await pass(0)
    expect(stream).toEqual({ endedAt: 1_000, written: '' })
    expect(vi.getTimerCount()).toBe(0)
  })

  test('with the error of its source', async () => {
    const request = { principal: principal(null), signal: new AbortController().signal }
    const frames = withLife(
      () => {
        throw new Error('log lost')
      },
      { ...request, stillAuthorized: async () => true },
      life,
      clock,
    )
    await expect(frames.next()).rejects.toThrow('log lost')
    expect(vi.getTimerCount()).toBe(0)
  })

  test('when its reader returns early', async () => {
    const frames = withLife(
      async function* () {
        yield new Uint8Array(1)
      },
      { principal: principal(null), signal: new AbortController().signal, stillAuthorized: async () => true },
      life,
      clock,
    )
    await frames.next()
    expect(vi.getTimerCount()).toBe(2)
    await frames.return(undefined)
    expect(vi.getTimerCount()).toBe(0)
  })
})
