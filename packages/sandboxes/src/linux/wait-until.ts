import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Polls `done` at growing intervals until it returns true.
 * @returns false if the time ran out
 */
export async function waitUntil(done: () => Promise<boolean>, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, 50)) {
    if (await done()) return true
    if (performance.now() >= deadline) return false
    await sleep(pauseMs)
  }
}
