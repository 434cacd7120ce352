import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const betweenReadsMs = 10

/** A tenant that reads one resource again and again. */
export interface PacedReader {
  /** URL of the resource, and the tenant's key. */
  readonly url: string
  readonly key: string
  /** Pid of the service's process. The reader measures how long its main thread waits for a processor. */
  readonly pid: number
}

/**
 * Reads until some work is done, and at least a number of times.
 *
 * A slow read delays the reads that fall due meanwhile. Each of them counts as well, with the time that it would have
 * waited; otherwise a service that hangs for a second would have only one slow read.
 * @returns milliseconds of each read, less the time in which the service or this process waited for a processor; on a
 * busy machine that is most of it, and says nothing about the service
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

/** Milliseconds that a process's main thread was ready but did not run, since it started. */
function waitedMs(pid: number): number {
  const [, waitedNs] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')
  return Number(waitedNs) / 1e6
}

/** Returns the nearest-rank percentile. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}
