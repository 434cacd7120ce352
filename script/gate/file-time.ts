import { availableParallelism, loadavg } from 'node:os'

/** Pause between two looks at the files that run. */
export const lookMs = 1_000

/** Tests of the gate itself cannot wait for ten minutes. */
const leastSeconds = Number(process.env['GATE_FILE_SECONDS'] ?? 600)

/** Returns how many seconds a file may take that costs so many seconds of a processor. */
export function mayTake(costSeconds: number): number {
  return Math.max(leastSeconds, 20 * costSeconds)
}

/**
 * Returns the seconds that count against a file for the time since the last look: the share of a processor that the machine's
 * load left to each process, and nothing for a time in which the machine stood still.
 */
export function countedSeconds(passedMs: number, load = loadavg()[0] ?? 0, cores = availableParallelism()): number {
  return (Math.min(passedMs, 2 * lookMs) / 1000) * Math.min(1, cores / load)
}
