import { existsSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { boundedCommand, type HelperBounds } from '../helper-bounds.ts'
import { type Cgroups, findCgroups, type GroupBounds } from '../linux/cgroups.ts'
import { instanceOf } from '../linux/instance.ts'

/** The cgroup of this process's helper programs, until disposed of. */
export interface HelperGroup extends AsyncDisposable {
  /** One line that says how this host bounds helper programs. */
  readonly description: string
}

/**
 * The groups of this process; helper programs join the last one. The group belongs to the process, like its uid, so
 * callers that start a helper program do not choose it.
 */
const groups: { join(): Promise<readonly string[]> }[] = []

/**
 * Returns words that turn the command after them into a helper program: bounded, and in this process's group if it has
 * one.
 */
export async function helperCommand(bounds: HelperBounds): Promise<readonly string[]> {
  return boundedCommand(bounds, (await groups.at(-1)?.join()) ?? [])
}

/**
 * Opens the cgroup that every helper program of this process joins from now on. Each process of the service has its
 * own, and does not remove those of living processes.
 */
export async function openHelperGroup(dataDir: string, bounds: GroupBounds): Promise<HelperGroup> {
  const cgroups = await findCgroups(`${instanceOf(await realpath(dataDir)).tag}.helpers`)
  if (cgroups === undefined) return { description: describe(undefined, bounds), [Symbol.asyncDispose]: async () => {} }
  const name = String(process.pid)
  // An earlier process with the same pid may have left it.
  await cgroups.end(name)
  await cgroups.tidy(isAlive)
  let files = await cgroups.make(name, bounds)
  const group = {
    async join() {
      // Any process that may write cgroups can remove an empty one, from one tree or from all.
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

/** Returns whether the process whose pid names a group is alive. */
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
