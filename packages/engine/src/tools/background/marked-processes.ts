import { readdir, readFile } from 'node:fs/promises'

/** A process that forks faster than it is killed is not chased for ever. */
const ROUNDS = 20

/**
 * Signals a process group, and the processes with such a variable in their environment: those that left the group, by
 * `setsid` or as daemons. SIGKILL is repeated until none is left, since a process may fork while it is looked for.
 *
 * @param mark the beginning of the variable as `NAME=value`
 */
export async function signalProcesses(
  group: number | undefined,
  mark: string,
  signal: 'SIGTERM' | 'SIGKILL',
): Promise<void> {
  if (group !== undefined) send(-group, signal)
  for (let round = 0; round < (signal === 'SIGKILL' ? ROUNDS : 1); round += 1) {
    const marked = await markedProcesses(mark)
    if (marked.length === 0) return
    for (const pid of marked) send(pid, signal)
  }
}

/** Returns the processes of which this program may read that they have the variable. */
async function markedProcesses(mark: string): Promise<number[]> {
  const entries = await readdir('/proc').catch((): string[] => [])
  const pids = entries.filter(name => /^\d+$/.test(name)).map(Number)
  const marks = await Promise.all(
    pids.map(async pid => {
      // A process that has ended in between, or is another user's, has none.
      const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')
      return environment.split('\0').some(variable => variable.startsWith(mark))
    }),
  )
  return pids.filter((_, index) => marks[index])
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // Gone already.
  }
}
