import { open, readdir, readFile } from 'node:fs/promises'
import { ignoring } from '@berth/platform/kit/system-errors.ts'
import { isLeaseId } from '../../linux/instance.ts'
import { processStartTime } from '../../linux/process-start-time.ts'
import { waitUntil } from '../../linux/wait-until.ts'

const OPTION = '--unsetenv'
/** The mark is within so much of a command line. */
const MARK_BYTES = 2048

/**
 * Returns bubblewrap arguments that mark a lease's processes, so that any process of the service finds them. The option
 * has no effect: no variable has such a name.
 */
export function markArguments(tag: string, leaseId: string): readonly string[] {
  return [OPTION, `${tag}/${leaseId}`]
}

interface MarkedProcess {
  readonly pid: number
  readonly leaseId: string
  readonly startTime: string
  /** Whether this is the sandbox's first process, rather than the outer one. */
  readonly first: boolean
}

/**
 * Returns the living bubblewrap processes of this service: the outer ones and the sandboxes' first ones. An agent can
 * put any text in its own command line. So a match counts only outside every sandbox, or as the first process of one;
 * no agent's process is either.
 */
export async function markedProcesses(tag: string): Promise<MarkedProcess[]> {
  const pids = (await readdir('/proc')).map(Number).filter(pid => pid > 1)
  const candidates = pids.map(async (pid): Promise<MarkedProcess | undefined> => {
    const argv = (await ignoring(gone, readBeginning(pid)))?.split('\0') ?? []
    const leaseId = argv[argv.indexOf(OPTION) + 1]?.slice(tag.length + 1)
    if (leaseId === undefined || !isLeaseId(leaseId) || !argv.includes(`${tag}/${leaseId}`)) return undefined
    const status = (await ignoring(gone, readFile(`/proc/${pid}/status`, 'utf8'))) ?? ''
    const namespacePids = /^NSpid:\s*(.*)$/m.exec(status)?.[1]?.split(/\s+/) ?? []
    const first = namespacePids.length === 2 && namespacePids[1] === '1'
    if (namespacePids.length !== 1 && !first) return undefined
    const startTime = await processStartTime(pid)
    return startTime === undefined ? undefined : { pid, leaseId, startTime, first }
  })
  return (await Promise.all(candidates)).filter(found => found !== undefined)
}

/**
 * Kills a lease's sandbox through its first process, which ends the whole pid namespace.
 * @returns whether all processes ended
 */
export async function killMarked(tag: string, leaseId: string): Promise<boolean> {
  return waitUntil(async () => {
    const found = (await markedProcesses(tag)).filter(one => one.leaseId === leaseId)
    for (const { pid, startTime } of found) {
      if ((await processStartTime(pid)) !== startTime) continue
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It ended in the meantime.
      }
    }
    return found.length === 0
  }, 10_000)
}

const gone = ['ENOENT', 'ESRCH', 'EACCES']

/**
 * Returns the beginning of a command line. Every process of the machine is looked at, and reading a file of unknown length
 * takes 64 KiB for each, which kept the garbage collector busy.
 */
async function readBeginning(pid: number): Promise<string> {
  await using file = await open(`/proc/${pid}/cmdline`)
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(MARK_BYTES), 0, MARK_BYTES)
  return buffer.toString('utf8', 0, bytesRead)
}
