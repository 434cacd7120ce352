import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Polls until `look` returns a value, and returns that.
 * @param look returns undefined or false as long as the value is missing
 * @param everyMs pause between two looks; by default a short one that grows
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
    // A look often asks the service, which takes a tenth of a core at the shorter interval. States that pass want one.
    await sleep(everyMs ?? (waitedMs < 300 ? 15 : 30))
  }
}
