import { readFile } from 'node:fs/promises'
import { ignoring } from '@berth/platform/kit/system-errors.ts'

/** Below this share of its memory a host counts as short of it. */
const LEAST_SHARE = 0.1
/** Percent of the last ten seconds in which some process waited for memory. */
const MOST_STALLED = 10

/** Tells whether this host is short of memory; a host that does not tell is not. */
export async function isMemoryTight(): Promise<boolean> {
  const read = async (path: string) =>
    (await ignoring(['ENOENT', 'EOPNOTSUPP', 'EACCES'], readFile(path, 'utf8'))) ?? ''
  return isTightBy(await read('/proc/meminfo'), await read('/proc/pressure/memory'))
}

/**
 * @param info as in /proc/meminfo
 * @param pressure as in /proc/pressure/memory; empty on a kernel without it
 */
export function isTightBy(info: string, pressure: string): boolean {
  const figure = (pattern: RegExp, text: string) => Number(pattern.exec(text)?.[1] ?? Number.NaN)
  const share = figure(/^MemAvailable:\s+(\d+)/m, info) / figure(/^MemTotal:\s+(\d+)/m, info)
  return share < LEAST_SHARE || figure(/^some avg10=([\d.]+)/m, pressure) > MOST_STALLED
}
