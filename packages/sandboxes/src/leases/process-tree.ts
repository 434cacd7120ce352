import { readdir, readFile } from 'node:fs/promises'
import { ignoring } from '@berth/platform/kit/system-errors.ts'

/** A process of a sandbox, by its pid on the host. Pid and start time together identify it. */
export interface SandboxProcess {
  readonly pid: number
  readonly parent: number
  /** One letter, as in `/proc/<pid>/stat`. */
  readonly state: string
  /** Clock ticks between the boot of the host and the start of the process. */
  readonly startTime: number
}

/** The processes of a running sandbox. */
export interface ProcessTree {
  /** First process of the pid namespace, which adopts orphans. */
  readonly first: number
  /** The sandbox's command, which is its supervisor. */
  readonly command: number
  /** All processes but these two: the agent, its descendants, and orphans. */
  readonly others: readonly SandboxProcess[]
}

/** The kernel's unit for process start times, on every architecture. */
const TICKS_PER_SECOND = 100
/** Numbers that the kernel gives only once in a pid namespace. */
const RESERVED_PIDS = 300

/**
 * Reads the processes of a sandbox; undefined if there are none.
 * @param first the first process of its pid namespace
 */
export async function readProcessTree(first: number): Promise<ProcessTree | undefined> {
  const inside = descendants(await readProcesses(), first)
  const command = await findCommand(inside.filter(({ parent }) => parent === first))
  if (command === undefined) return undefined
  return { first, command, others: inside.filter(({ pid }) => pid !== command) }
}

/** Returns all descendants of a process in the list. */
export function descendants(processes: readonly SandboxProcess[], root: number): SandboxProcess[] {
  const children = Map.groupBy(processes, ({ parent }) => parent)
  const found = [...(children.get(root) ?? [])]
  for (const { pid } of found) found.push(...(children.get(pid) ?? []))
  return found
}

/** Returns clock ticks since the boot of the host, comparable with start times. */
export async function ticksSinceBoot(): Promise<number> {
  const [seconds] = (await readFile('/proc/uptime', 'utf8')).split(' ')
  return Math.floor(Number(seconds) * TICKS_PER_SECOND)
}

/** Sends a signal to a process, unless it has ended since it was read. */
export async function signalProcess({ pid, startTime }: SandboxProcess, name: NodeJS.Signals): Promise<void> {
  if ((await readProcess(pid))?.startTime !== startTime) return
  try {
    process.kill(pid, name)
  } catch {
    // It ended in the meantime.
  }
}

/**
 * Finds the command: the process with the lowest number of its namespace after the first. An agent cannot create another
 * with a lower one, because the kernel does not use the first 300 numbers again.
 */
async function findCommand(children: readonly SandboxProcess[]): Promise<number | undefined> {
  const numbered = children.map(async ({ pid }) => {
    const status = await ignoring(['ENOENT', 'ESRCH'], readFile(`/proc/${pid}/status`, 'utf8'))
    return { pid, inside: Number(/^NSpid:\s*\d+\s+(\d+)$/m.exec(status ?? '')?.[1]) }
  })
  const inside = (await Promise.all(numbered)).filter(({ inside }) => inside < RESERVED_PIDS)
  return inside.toSorted((one, other) => one.inside - other.inside)[0]?.pid
}

/** Returns all processes that this one sees but the first. */
export async function readProcesses(): Promise<SandboxProcess[]> {
  const pids = (await readdir('/proc')).map(Number).filter(pid => pid > 1)
  return (await Promise.all(pids.map(readProcess))).filter(process => process !== undefined)
}

async function readProcess(pid: number): Promise<SandboxProcess | undefined> {
  const stat = await ignoring(['ENOENT', 'ESRCH'], readFile(`/proc/${pid}/stat`, 'utf8'))
  if (stat === undefined) return undefined
  // The program's name is second, in parentheses, and may contain anything.
  const fields = stat.slice(stat.lastIndexOf(') ') + 2).split(' ')
  return { pid, state: fields[0] ?? '', parent: Number(fields[1]), startTime: Number(fields[19]) }
}
