import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Polls until `look` returns a value, and returns that.
 * @param look returns undefined or false as long as the value is missing
 * @param everyMs pause between two looks; by default a tenth of the time waited so far, from 15 to 50 ms
 */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = 60_000,
  everyMs?: number,
): Promise<T> {
  const start = performance.now()
  for (;;) {
    const seen = await look()
    if (seen !== undefined && seen !== false) return seen
    const waitedMs = performance.now() - start
    if (waitedMs > timeoutMs) throw new Error(`not within ${timeoutMs} ms: ${what}`)
    // A look often asks the service, which takes a tenth of a core at the shortest pause. States that pass want one.
    await sleep(everyMs ?? Math.min(50, Math.max(15, waitedMs / 10)))
  }
}
