import { readdir, readFile } from 'node:fs/promises'

/** Pids of everything that runs in a lease's sandbox, by the cgroup it is in. */
export async function sandboxProcesses(leaseId: string): Promise<number[]> {
  const pids = (await readdir('/proc')).map(Number).filter(pid => pid > 1)
  const groups = await Promise.all(pids.map(pid => readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '')))
  return pids.filter((_, index) => groups[index]?.includes(leaseId) === true)
}

/** Sends a signal to every process of a sandbox; those that have just ended are passed over. */
export async function signalSandbox(leaseId: string, signal: NodeJS.Signals): Promise<void> {
  const pids = await sandboxProcesses(leaseId)
  if (pids.length === 0) throw new Error(`nothing runs in sandbox ${leaseId}`)
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // Ended with its parent.
    }
  }
}
