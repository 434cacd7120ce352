import {
  descendants,
  readProcesses,
  type SandboxProcess,
  signalProcess,
  ticksSinceBoot,
} from '../../leases/process-tree.ts'
import { waitUntil } from '../../linux/wait-until.ts'

/** Maximum duration of one attempt to stop all processes. The caller makes the next. */
const STOPPING_MS = 500
const ENDING_MS = 1000
const KILLING_MS = 30_000
/** Of a container's first processes; the programs of a sandbox come later. */
const FIRST_PIDS = 32
const STOPPED = /[TtZX]/
const DEAD = /[ZX]/

/**
 * Refuses to go on anywhere but as a child of a container's first process: a signal to all others would reach the machine.
 */
export function assertContainer(): void {
  if (process.ppid !== 1 || process.pid > FIRST_PIDS) throw new Error('this program belongs into a container of a pod')
}

/** All processes of this container but its first and this one. A container's own pid namespace is the sandbox's. */
async function others(): Promise<SandboxProcess[]> {
  return (await readProcesses()).filter(({ pid }) => pid !== process.pid)
}

/** Signals all others at once, so a process that is just being forked gets it too. */
export function signalAll(name: NodeJS.Signals): void {
  try {
    process.kill(-1, name)
  } catch {
    // ESRCH: there are no others.
  }
}

/** Kills all other processes. */
export async function killAll(): Promise<void> {
  const gone = await waitUntil(async () => {
    signalAll('SIGKILL')
    return (await others()).every(({ state }) => DEAD.test(state))
  }, KILLING_MS)
  if (!gone) throw new Error('processes of the sandbox do not end')
}

/**
 * Stops, continues and ends the processes of a sandbox, from within its container. There is no freezer of the kernel in a
 * pod; signals reach the supervisor as well.
 */
export class ContainerProcesses {
  #isStopped = false
  #since = 0

  async freeze(): Promise<void> {
    this.#isStopped = true
    // When the last process with a parent outside its process group ends, the kernel continues the group.
    await waitUntil(async () => {
      if (!this.#isStopped) return true
      signalAll('SIGSTOP')
      return await this.#haveStopped()
    }, STOPPING_MS)
  }

  async thaw(): Promise<boolean> {
    if (!this.#isStopped) return false
    // Note the time before thawing, so that later processes are younger.
    this.#since = await ticksSinceBoot()
    this.#isStopped = false
    signalAll('SIGCONT')
    return true
  }

  async state(): Promise<'running' | 'freezing' | 'frozen'> {
    if (!this.#isStopped) return 'running'
    return (await this.#haveStopped()) ? 'frozen' : 'freezing'
  }

  /** The parent of orphans is the container's first process, which started nothing else but this one. */
  async endOrphans(): Promise<void> {
    await waitUntil(async () => {
      const all = await others()
      const orphans = all
        .filter(({ parent, startTime }) => parent === 1 && startTime >= this.#since)
        .flatMap(orphan => [orphan, ...descendants(all, orphan.pid)])
        .filter(({ state }) => !DEAD.test(state))
      for (const orphan of orphans) await signalProcess(orphan, 'SIGKILL')
      return orphans.length === 0
    }, ENDING_MS)
  }

  async keepOrphans(): Promise<void> {
    this.#since = await ticksSinceBoot()
  }

  async #haveStopped(): Promise<boolean> {
    return (await others()).every(({ state }) => STOPPED.test(state))
  }
}
