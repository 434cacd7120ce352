import { readdir, readFile } from 'node:fs/promises'
import { ignoring } from '../../linux/errors.ts'
import { markedProcesses } from './marked-processes.ts'

/** A process of a sandbox, by its pid on the host. Pid and start time together name one process for good. */
export interface SandboxProcess {
  readonly pid: number
  readonly parent: number
  /** One letter, as `/proc/<pid>/stat` has it. */
  readonly state: string
  /** Clock ticks between the boot of the host and the start of the process. */
  readonly startTime: number
}

/** The processes of a living sandbox. */
export interface ProcessTree {
  /** First process of the pid namespace, to which orphans are given. */
  readonly first: number
  /** The sandbox's command, which is its supervisor. */
  readonly command: number
  /** All processes but these two: the agent, what the agent started, and orphans. */
  readonly others: readonly SandboxProcess[]
}

/** What the kernel counts process start times in, on every architecture. */
const TICKS_PER_SECOND = 100

/** Reads the processes of a lease's sandbox; undefined where it has none. */
export async function readProcessTree(tag: string, leaseId: string): Promise<ProcessTree | undefined> {
  const marked = (await markedProcesses(tag)).find(process => process.leaseId === leaseId && process.first)
  if (marked === undefined) return undefined
  const first = marked.pid
  const inside = descendants(await readProcesses(), first)
  const command = await findCommand(inside.filter(({ parent }) => parent === first))
  if (command === undefined) return undefined
  return { first, command, others: inside.filter(({ pid }) => pid !== command) }
}

/** All descendants of a process among those that were read. */
export function descendants(processes: readonly SandboxProcess[], root: number): SandboxProcess[] {
  const children = Map.groupBy(processes, ({ parent }) => parent)
  const found = [...(children.get(root) ?? [])]
  for (const { pid } of found) found.push(...(children.get(pid) ?? []))
  return found
}

/** Clock ticks since the boot of the host, to compare with start times. */
export async function ticksSinceBoot(): Promise<number> {
  const [seconds] = (await readFile('/proc/uptime', 'utf8')).split(' ')
  return Math.floor(Number(seconds) * TICKS_PER_SECOND)
}

/** Sends a signal to a process that was read, unless it has ended since. */
export async function signalProcess({ pid, startTime }: SandboxProcess, name: NodeJS.Signals): Promise<void> {
  if ((await readProcess(pid))?.startTime !== startTime) return
  try {
    process.kill(pid, name)
  } catch {
    // Ended in between.
  }
}

/** The command is the second process of its namespace; an agent cannot make another one of that number. */
async function findCommand(children: readonly SandboxProcess[]): Promise<number | undefined> {
  for (const { pid } of children) {
    const status = await ignoring(['ENOENT', 'ESRCH'], readFile(`/proc/${pid}/status`, 'utf8'))
    if (/^NSpid:\s*\d+\s+2$/m.test(status ?? '')) return pid
  }
  return undefined
}

async function readProcesses(): Promise<SandboxProcess[]> {
  const pids = (await readdir('/proc')).map(Number).filter(pid => pid > 1)
  return (await Promise.all(pids.map(readProcess))).filter(process => process !== undefined)
}

async function readProcess(pid: number): Promise<SandboxProcess | undefined> {
  const stat = await ignoring(['ENOENT', 'ESRCH'], readFile(`/proc/${pid}/stat`, 'utf8'))
  if (stat === undefined) return undefined
  // The program's name comes second, in parentheses, and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(') ') + 2).split(' ')
  return { pid, state: fields[0] ?? '', parent: Number(fields[1]), startTime: Number(fields[19]) }
}
