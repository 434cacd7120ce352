import { existsSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { type Cgroups, findCgroups, type GroupBounds } from '../linux/cgroups.ts'
import { instanceOf } from '../linux/instance.ts'
import { boundedWords, type HelperBounds } from './helper-bounds.ts'

/** The cgroup of a process's helper programs, until disposed of. */
export interface HelperGroup extends AsyncDisposable {
  /** How helper programs are bounded on this host, in one line. */
  readonly description: string
}

/**
 * The groups of this process, the one that its helper programs join last. Which group they join belongs to the process,
 * as its uid does: whoever starts one has no part in it.
 */
const groups: { join(): Promise<readonly string[]> }[] = []

/** Words that turn the command after them into a helper program: in this process's group, if it has one, and bounded. */
export async function helperCommand(bounds: HelperBounds): Promise<readonly string[]> {
  return boundedWords(bounds, (await groups.at(-1)?.join()) ?? [])
}

/**
 * Opens the cgroup that every helper program of this process joins from now on. Each process of the service has its own,
 * and removes no other's.
 */
export async function openHelperGroup(dataDir: string, bounds: GroupBounds): Promise<HelperGroup> {
  const cgroups = await findCgroups(`${instanceOf(await realpath(dataDir)).tag}.helpers`)
  if (cgroups === undefined) return { description: describe(undefined, bounds), [Symbol.asyncDispose]: async () => {} }
  const name = String(process.pid)
  // A process of the same pid may have left it.
  await cgroups.end(name)
  await cgroups.tidy(isAlive)
  let files = await cgroups.make(name, bounds)
  const group = {
    async join() {
      // Anybody who may write cgroups can remove an empty one, of one tree or of all.
      if (!files.every(file => existsSync(file))) files = await cgroups.ensure(name, bounds)
      return files
    },
  }
  groups.push(group)
  return {
    description: describe(cgroups, bounds),
    async [Symbol.asyncDispose]() {
      groups.splice(groups.indexOf(group), 1)
      await cgroups.end(name)
      await cgroups.tidy(isAlive)
    },
  }
}

/** Whether a process of this pid, which names a group, lives. */
function isAlive(pid: string): boolean {
  try {
    return process.kill(Number(pid), 0)
  } catch {
    return false
  }
}

const GIB = 1024 ** 3

function describe(cgroups: Cgroups | undefined, bounds: GroupBounds): string {
  const has = (name: 'memory' | 'pids' | 'cpu') => cgroups?.controllers.has(name) === true
  const whole = [
    ...(has('memory') ? [`${(bounds.memoryBytes / GIB).toFixed(1)} GiB of memory`] : []),
    ...(has('pids') ? [`${bounds.processes} processes`] : []),
    ...(has('cpu') ? [`${bounds.cpus} processors`] : []),
  ]
  const each = 'memory, processor time and file size of each process by rlimits'
  return whole.length === 0
    ? `helper programs: ${each} (no writable cgroup bounds them together)`
    : `helper programs: ${each}; ${whole.join(', ')} altogether by cgroup`
}
