import { setTimeout as sleep } from 'node:timers/promises'
import { patience } from './patience.ts'

/**
 * Polls until `look` returns a value, and returns that.
 * @param check returns undefined or false as long as the value is missing
 * @param everyMs pause between two looks; by default a short one that grows
 * @throws Error once this process has waited for `timeoutMs`, by its own patience
 */
export async function until<T>(
  what: string,
  check: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = 60_000,
  everyMs?: number,
): Promise<T> {
  const isLongEnough = patience(timeoutMs, everyMs)
  for (let checks = 0; ; checks += 1) {
    const seen = await check()
    if (seen !== undefined && seen !== false) return seen
    if (isLongEnough()) throw new Error(`not within ${timeoutMs} ms: ${what}`)
    // A look often asks the service, which takes a tenth of a core at the shorter interval. States that pass want one.
    await sleep(everyMs ?? (checks < 20 ? 15 : 30))
  }
}
