import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const betweenReadsMs = 10

/** A tenant that reads one thing again and again. */
export interface PacedReader {
  /** What it reads, and its key. */
  readonly url: string
  readonly key: string
  /** The service's process, for whose main thread it counts how long that waits for a processor. */
  readonly pid: number
}

/**
 * Reads until some work is done, and at least a number of times.
 *
 * A read that takes long keeps the reads from being made that would have fallen due meanwhile. Each of them counts as well,
 * with what it would have waited; else a service that hangs for a second would have one slow read.
 * @returns milliseconds of each read, without those in which the service or this process waited for a processor, which on a
 *   busy machine are most of them and tell nothing of the service
 */
export async function readWhile(
  { url, key, pid }: PacedReader,
  work: Promise<unknown>,
  least: number,
): Promise<readonly number[]> {
  const times: number[] = []
  let over = false
  const end = () => {
    over = true
  }
  work.then(end, end)
  for (let reads = 0; !over || reads < least; reads += 1) {
    const [start, waited] = [performance.now(), waitedMs(pid) + waitedMs(process.pid)]
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
    await response.arrayBuffer()
    if (response.status !== 200) throw new Error(`a read was answered with ${response.status}`)
    const took = performance.now() - start - (waitedMs(pid) + waitedMs(process.pid) - waited)
    times.push(Math.max(0, took))
    for (let late = took - betweenReadsMs; late > betweenReadsMs; late -= betweenReadsMs) times.push(late)
    await sleep(betweenReadsMs)
  }
  await work
  return times
}

/** How long a process's main thread was ready to run and did not, since it began. */
function waitedMs(pid: number): number {
  const [, waitedNs] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')
  return Number(waitedNs) / 1e6
}

/** The nearest-rank percentile. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}
