import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Looks until what it sees is there, and answers it.
 * @param look answers undefined or false while it is not
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
