import { readdir, readFile } from 'node:fs/promises'
import { ignoring } from '../../linux/errors.ts'
import { isLeaseId } from '../../linux/instance.ts'
import { waitUntil } from '../../linux/wait-until.ts'

const OPTION = '--unsetenv'

/**
 * Arguments that bubblewrap runs with in plain sight, by which any process of the service finds a lease's processes. The
 * option does nothing: no variable has such a name.
 */
export function markArguments(tag: string, leaseId: string): readonly string[] {
  return [OPTION, `${tag}/${leaseId}`]
}

interface MarkedProcess {
  readonly pid: number
  readonly leaseId: string
  readonly startTime: string
  /** Whether it is the first process of the sandbox, and not the outer one. */
  readonly first: boolean
}

/**
 * Living bubblewrap processes of this service: the outer one and the sandbox's first.
 *
 * An agent can put any text in its own command line, so a match counts only outside every sandbox or as the first
 * process of one; no agent's process is either of these.
 */
export async function markedProcesses(tag: string): Promise<MarkedProcess[]> {
  const pids = (await readdir('/proc')).map(Number).filter(pid => pid > 1)
  const looked = pids.map(async (pid): Promise<MarkedProcess | undefined> => {
    const words = (await read(pid, 'cmdline'))?.split('\0') ?? []
    const leaseId = words[words.indexOf(OPTION) + 1]?.slice(tag.length + 1)
    if (leaseId === undefined || !isLeaseId(leaseId) || !words.includes(`${tag}/${leaseId}`)) return undefined
    const namespacePids = /^NSpid:\s*(.*)$/m.exec((await read(pid, 'status')) ?? '')?.[1]?.split(/\s+/) ?? []
    const first = namespacePids.length === 2 && namespacePids[1] === '1'
    if (namespacePids.length !== 1 && !first) return undefined
    const startTime = await processStartTime(pid)
    return startTime === undefined ? undefined : { pid, leaseId, startTime, first }
  })
  return (await Promise.all(looked)).filter(found => found !== undefined)
}

/** Kills a lease's sandbox by its first process, which takes the whole pid namespace along. @returns whether all ended */
export async function killMarked(tag: string, leaseId: string): Promise<boolean> {
  return waitUntil(async () => {
    const found = (await markedProcesses(tag)).filter(one => one.leaseId === leaseId)
    for (const { pid, startTime } of found) {
      if ((await processStartTime(pid)) !== startTime) continue
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // Ended in between.
      }
    }
    return found.length === 0
  }, 10_000)
}

/** A pid together with this names one process for good; undefined once it is dead, a zombie included. */
export async function processStartTime(pid: number): Promise<string | undefined> {
  // The program's name comes second, in parentheses, and may hold anything; the start is the 20th field after it.
  const fields = (await read(pid, 'stat'))?.split(') ').at(-1)?.split(' ') ?? []
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
}

function read(pid: number, name: string): Promise<string | undefined> {
  return ignoring(['ENOENT', 'ESRCH', 'EACCES'], readFile(`/proc/${pid}/${name}`, 'utf8'))
}
