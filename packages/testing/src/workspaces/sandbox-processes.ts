import { readdir, readFile } from 'node:fs/promises'
import { leaseFiles } from '@berth/sandboxes/leases/lease-files.ts'
import { groupOf } from '@berth/sandboxes/leases/lease-group.ts'
import { instanceOf } from '@berth/sandboxes/linux/instance.ts'

/** Lists the pids of all processes in a lease's sandbox, found by their cgroup. */
export async function sandboxProcesses(dataDir: string, leaseId: string): Promise<number[]> {
  const group = groupOf(leaseFiles(instanceOf(dataDir), leaseId))
  if (group === undefined) return []
  const pids = (await readdir('/proc')).map(Number).filter(pid => pid > 1)
  const groups = await Promise.all(pids.map(pid => readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '')))
  return pids.filter((_, index) => groups[index]?.includes(`/${group}\n`) === true)
}

/** Sends a signal to every process of a sandbox; skips those that have just ended. */
export async function signalSandbox(dataDir: string, leaseId: string, signal: NodeJS.Signals): Promise<void> {
  const pids = await sandboxProcesses(dataDir, leaseId)
  if (pids.length === 0) throw new Error(`nothing runs in sandbox ${leaseId}`)
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // The process ended with its parent.
    }
  }
}
