import { readFileSync } from 'node:fs'

/** What identifies a process beyond its recyclable pid. */
export interface ProcessStat {
  /** One letter of proc(5): `R`, `S`, `Z`, … */
  readonly state: string
  /** Clock ticks after boot at which it began; pid and this together are unique until the next boot. */
  readonly startTicks: number
}

/** Reads `/proc/<pid>/stat`; undefined when there is no such process. */
export function readProcessStat(pid: number): ProcessStat | undefined {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch {
    return undefined
  }
  // The command name may hold spaces and brackets: fields count from its last closing bracket.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const state = fields[0]
  const startTicks = Number(fields[19])
  return state === undefined || !Number.isSafeInteger(startTicks) ? undefined : { state, startTicks }
}

/**
 * Whether this very process still executes. A zombie does not, although signals to it succeed for as long as its parent
 * leaves it unreaped.
 */
export function isRunning(pid: number, startTicks?: number): boolean {
  const stat = readProcessStat(pid)
  if (stat === undefined || stat.state === 'Z' || stat.state === 'X') return false
  return startTicks === undefined || stat.startTicks === startTicks
}
