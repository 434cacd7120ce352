import { readFileSync } from 'node:fs'

/** Identity of a process beyond its recyclable pid. */
export interface ProcessStat {
  /** One letter of proc(5): `R`, `S`, `Z`, … */
  readonly state: string
  /** Start time in clock ticks after boot; together with the pid it is unique until the next boot. */
  readonly startTicks: number
}

/** Reads `/proc/<pid>/stat`; returns undefined if there is no such process. */
export function readProcessStat(pid: number): ProcessStat | undefined {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch {
    return undefined
  }
  // The command name may hold spaces and brackets, so count the fields from its last closing bracket.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const state = fields[0]
  const startTicks = Number(fields[19])
  return state === undefined || !Number.isSafeInteger(startTicks) ? undefined : { state, startTicks }
}

/**
 * Returns true if this very process still executes. A zombie does not, although signals to it succeed until its parent
 * reaps it.
 */
export function isRunning(pid: number, startTicks?: number): boolean {
  const stat = readProcessStat(pid)
  if (stat === undefined || stat.state === 'Z' || stat.state === 'X') return false
  return startTicks === undefined || stat.startTicks === startTicks
}
