import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Polls until `look` returns a value, and returns that.
 * @param look returns undefined or false as long as the value is missing
 */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = 60_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const seen = await look()
    if (seen !== undefined && seen !== false) return seen
    if (performance.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`)
    await sleep(15)
  }
}
