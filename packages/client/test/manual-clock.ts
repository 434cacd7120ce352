import type { Platform } from '../src/index.ts'

interface Sleeper {
  readonly ms: number
  readonly dueMs: number
  readonly wake: () => void
}

/** Time that moves only when the test moves it. */
export class ManualClock implements Pick<Platform, 'now' | 'sleep' | 'random'> {
  #now = 0
  readonly #sleepers = new Set<Sleeper>()
  readonly #watchers = new Set<() => void>()

  now = (): number => this.#now
  random = (): number => 0

  sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      if (ms <= 0) return resolve()
      const leave = () => {
        this.#sleepers.delete(sleeper)
        reject(signal?.reason)
      }
      const wake = () => {
        signal?.removeEventListener('abort', leave)
        this.#sleepers.delete(sleeper)
        resolve()
      }
      const sleeper = { ms, dueMs: this.#now + ms, wake }
      this.#sleepers.add(sleeper)
      signal?.addEventListener('abort', leave, { once: true })
      for (const watcher of [...this.#watchers]) watcher()
    })

  /** Resolves once someone sleeps until exactly `dueMs`. */
  sleeperUntil(dueMs: number): Promise<void> {
    return new Promise(resolve => {
      const check = () => {
        if (![...this.#sleepers].some(sleeper => sleeper.dueMs === dueMs)) return
        this.#watchers.delete(check)
        resolve()
      }
      this.#watchers.add(check)
      check()
    })
  }

  advance(ms: number): void {
    this.#now += ms
    for (const sleeper of [...this.#sleepers]) if (sleeper.dueMs <= this.#now) sleeper.wake()
  }
}

/**
 * Uses real time, except that waits before a retry pass at once and are recorded. Longer limits and watchdogs, and
 * those named in `real`, keep their length; the tests do not reach them.
 */
export function impatientPlatform(...real: readonly number[]): { platform: Partial<Platform>; waits: number[] } {
  const waits: number[] = []
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const isRetry = ms < 20_000 && !real.includes(ms)
      if (isRetry) waits.push(ms)
      const timer = setTimeout(resolve, isRetry ? 0 : ms)
      signal?.addEventListener('abort', () => {
        clearTimeout(timer)
        reject(signal.reason)
      })
    })
  return { platform: { sleep, random: () => 0, now: () => 0 }, waits }
}
