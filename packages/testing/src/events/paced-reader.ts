import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const betweenReadsMs = 10

/**
 * Reads a resource with a tenant's key until some work is done, and at least twice.
 * @param of `pid` is that of the service's process, whose main thread is measured
 * @returns the most milliseconds for which the service's event loop ran until a read was answered. Of the time that passes,
 * most says nothing about the service on a busy machine: its threads wait for a processor, and for each other.
 */
export async function readWhile(
  { url, key, pid }: Readonly<{ url: string; key: string; pid: number }>,
  work: Promise<unknown>,
): Promise<number> {
  let [most, over] = [0, false]
  const end = () => {
    over = true
  }
  work.then(end, end)
  for (let reads = 0; !over || reads < 2; reads += 1) {
    const before = ranMs(pid)
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
    await response.arrayBuffer()
    if (response.status !== 200) throw new Error(`a read was answered with ${response.status}`)
    most = Math.max(most, ranMs(pid) - before)
    await sleep(betweenReadsMs)
  }
  await work
  return most
}

/** Milliseconds that a process's main thread ran since it started. */
function ranMs(pid: number): number {
  const [ranNs] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')
  return Number(ranNs) / 1e6
}
