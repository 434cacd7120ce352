import { readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cgroupFreezer } from './cgroup-freezer.ts'
import { waitUntil } from './wait-until.ts'

/** Returns every group of an instance on this host: its sandboxes' and its helper programs', in all hierarchies. */
export async function instanceGroups(tag: string): Promise<readonly string[]> {
  const found: string[] = []
  for (const line of (await readFile('/proc/self/mountinfo', 'utf8')).split('\n')) {
    const [before = '', after = ''] = line.split(' - ')
    if (!/^cgroup2? /.test(after)) continue
    const mountPoint = before.split(' ')[4] ?? ''
    found.push(...[tag, `${tag}.helpers`].map(name => join(mountPoint, name)).filter(isGroup))
  }
  return found
}

/**
 * Kills everything in a group and in those below it, frozen or not, and removes them.
 * @returns whether nothing is left
 */
export function removeGroups(group: string): Promise<boolean> {
  return waitUntil(async () => {
    const all = below(group)
    for (const dir of all) killMembers(dir)
    for (const dir of all.toReversed()) {
      try {
        rmdirSync(dir)
      } catch {
        // Its processes have not ended yet, or another process has removed it.
      }
    }
    return !isGroup(group)
  }, 10_000)
}

/** Returns a group and those below it, parents first. */
function below(group: string): readonly string[] {
  try {
    const inside = readdirSync(group, { withFileTypes: true }).filter(entry => entry.isDirectory())
    return [group, ...inside.flatMap(({ name }) => below(join(group, name)))]
  } catch {
    return []
  }
}

function killMembers(dir: string): void {
  try {
    for (const pid of readFileSync(join(dir, 'cgroup.procs'), 'utf8').split('\n').map(Number)) {
      if (pid > 1) process.kill(pid, 'SIGKILL')
    }
    // In a frozen group of version 1, killed processes end only now, and none runs before.
    cgroupFreezer(1, dir)?.thaw(dir)
    writeFileSync(join(dir, 'cgroup.kill'), '1', { flag: 'r+' })
  } catch {
    // It ended in the meantime, or this version of cgroups has no such file.
  }
}

function isGroup(dir: string): boolean {
  try {
    readdirSync(dir)
    return true
  } catch {
    return false
  }
}
