import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode, ignoring } from '@berth/platform/kit/system-errors.ts'
import type { SandboxBounds } from '../driver.ts'
import { type CgroupFreezer, cgroupFreezer, type FreezeState } from './cgroup-freezer.ts'
import { waitUntil } from './wait-until.ts'

const controllers = ['memory', 'pids', 'cpu'] as const
export type Controller = (typeof controllers)[number]

/** Bounds of everything that runs in one group. */
export type GroupBounds = Pick<SandboxBounds, 'memoryBytes' | 'cpus' | 'processes'>

/** One tree of cgroups in which each sandbox gets a group. */
interface Tree {
  readonly version: 1 | 2
  readonly mountPoint: string
  readonly controllers: readonly Controller[]
  readonly freezer?: CgroupFreezer | undefined
}

/** Stops and continues all processes of groups, by name. */
export interface Freezer {
  freeze(name: string): void
  /** @returns whether the groups had been asked to stop */
  thaw(name: string): boolean
  state(name: string): FreezeState
}

/**
 * The cgroups of this host that the driver may write. The groups are below `<mount point>/<instance tag>`. The place is
 * fixed, so that any process of the service finds them. It is outside the service's own group, so that a service
 * manager that ends the whole group does not end the sandboxes.
 */
export interface Cgroups {
  readonly controllers: ReadonlySet<Controller>
  /** Whether `cgroup.kill` can end a sandbox in one write. */
  readonly canKill: boolean
  /** Absent if no tree can freeze its groups. */
  readonly freezer?: Freezer | undefined
  /**
   * Creates the groups of a name, which must be new.
   * @returns the files that a process writes `0` to in order to join
   */
  make(name: string, bounds: GroupBounds): Promise<readonly string[]>
  /**
   * Creates the missing groups of a name, and bounds all of them.
   * @returns the files that a process writes `0` to in order to join
   */
  ensure(name: string, bounds: GroupBounds): Promise<readonly string[]>
  /** Kills everything in the groups of a name and removes them. Resolves with false if something is left. */
  end(name: string): Promise<boolean>
  /** Sets the bounds of existing groups, in use or not. */
  limit(name: string, bounds: GroupBounds): void
  /** Removes unused groups except those to keep, and the parents last. */
  tidy(keeps?: (name: string) => boolean): Promise<void>
}

/**
 * Finds the trees that this process may write; undefined if there are none.
 * @param versions the versions of cgroups to use, if the host has them
 */
export async function findCgroups(tag: string, versions: readonly number[] = [1, 2]): Promise<Cgroups | undefined> {
  const trees: Tree[] = []
  for (const tree of parseTrees(await readFile('/proc/self/mountinfo', 'utf8'))) {
    const usable = versions.includes(tree.version) ? await prepareTree(tree, tag) : undefined
    if (usable) trees.push(usable)
  }
  // One freezing tree is enough. Each tree that a sandbox joins costs time, so version 1's freezer tree is a last
  // resort.
  const freezing = trees.toSorted((one, other) => other.version - one.version).find(tree => tree.freezer)
  const used = trees.filter(tree => tree === freezing || tree.version === 2 || tree.controllers.length > 0)
  for (const tree of trees) if (!used.includes(tree)) await removeEmpty(join(tree.mountPoint, tag))
  return used.length === 0 ? undefined : overTrees(used, tag, freezing)
}

/**
 * Returns the cgroup mounts in a mountinfo text: v1 trees with a controller in use or the freezer, and every v2 tree.
 */
export function parseTrees(mountInfo: string): Tree[] {
  const trees: Tree[] = []
  for (const line of mountInfo.split('\n')) {
    const [before, after] = line.split(' - ')
    const mountPoint = before?.split(' ')[4]
    const [type, , options] = after?.split(' ') ?? []
    if (mountPoint === undefined) continue
    if (type === 'cgroup2') trees.push({ version: 2, mountPoint, controllers: [] })
    if (type !== 'cgroup') continue
    const names = new Set(options?.split(','))
    const found = controllers.filter(name => names.has(name))
    if (found.length > 0 || names.has('freezer')) trees.push({ version: 1, mountPoint, controllers: found })
  }
  return trees
}

async function prepareTree(tree: Tree, tag: string): Promise<Tree | undefined> {
  const parent = join(tree.mountPoint, tag)
  try {
    await mkdir(parent, { recursive: true })
    const freezer = cgroupFreezer(tree.version, parent)
    if (tree.version === 1) return { ...tree, freezer }
    const offered = (await readFile(join(tree.mountPoint, 'cgroup.controllers'), 'utf8')).trim().split(/\s+/)
    const wanted = controllers.filter(name => offered.includes(name))
    const enabled: Controller[] = []
    for (const name of wanted) {
      // A group with processes of its own cannot enable controllers for its children; a container's root group often
      // has some.
      const handedDown = await Promise.all([enable(tree.mountPoint, name), enable(parent, name)])
      if (handedDown.every(Boolean)) enabled.push(name)
    }
    await enable(tree.mountPoint, 'io')
    const usable: Tree = { ...tree, controllers: enabled, freezer }
    await lowerWeights(usable, parent)
    return usable
  } catch {
    return undefined
  }
}

/**
 * Gives all sandboxes together a quarter of the default weight of the service's own group. Sandboxes that want every
 * core, or the whole disk, then leave the service its share. This costs nothing while the service wants less. Version 1
 * keeps the default weights. There each process of the root group weighs as much as all sandboxes together, and a few
 * busy ones made creating a sandbox twice as slow.
 */
async function lowerWeights(tree: Tree, parent: string): Promise<void> {
  const weights = [...(tree.controllers.includes('cpu') ? [['cpu.weight', '25'] as const] : []), IO_WEIGHT]
  for (const [file, weight] of weights) {
    // I/O weights need a scheduler that supports them.
    const lacking = ['ENOENT', 'EACCES', 'EPERM', 'EINVAL', 'EOPNOTSUPP']
    await ignoring(lacking, writeFile(join(parent, file), weight, { flag: 'r+' }))
  }
}

const IO_WEIGHT = ['io.weight', 'default 25'] as const

async function enable(group: string, controller: Controller | 'io'): Promise<boolean> {
  const file = join(group, 'cgroup.subtree_control')
  try {
    await writeFile(file, `+${controller}`)
    return true
  } catch {
    const now = await ignoring(['ENOENT', 'EACCES'], readFile(file, 'utf8'))
    return now?.trim().split(/\s+/).includes(controller) ?? false
  }
}

function overTrees(trees: readonly Tree[], tag: string, freezing: Tree | undefined): Cgroups {
  const groups = (name: string) => trees.map(tree => ({ tree, dir: join(tree.mountPoint, tag, name) }))
  const setLimits = (name: string, bounds: GroupBounds) => {
    for (const { tree, dir } of groups(name)) {
      for (const [file, value] of limits(tree, bounds)) {
        try {
          writeFileSync(join(dir, file), value)
        } catch (error) {
          // Kernels without swap accounting lack the swap files; then swap cannot be bounded.
          if (!file.includes('sw') || !['ENOENT', 'EACCES', 'EPERM'].includes(errorCode(error) ?? '')) throw error
        }
      }
    }
  }
  const prepareParents = async () => {
    for (const tree of trees) {
      // Another process may have removed the parent, and with it the controllers enabled for its children.
      const parent = join(tree.mountPoint, tag)
      if (mkdirSync(parent, { recursive: true }) !== undefined) await prepareTree(tree, tag)
    }
  }
  const bounded = (name: string, bounds: GroupBounds) => {
    setLimits(name, bounds)
    return groups(name).map(({ dir }) => join(dir, 'cgroup.procs'))
  }
  return {
    controllers: new Set(trees.flatMap(tree => tree.controllers)),
    canKill: trees.some(tree => tree.version === 2),
    freezer: freezerOf(freezing, tag),
    async make(name, bounds) {
      await prepareParents()
      for (const { dir } of groups(name)) mkdirSync(dir)
      return bounded(name, bounds)
    },
    async ensure(name, bounds) {
      await prepareParents()
      // Other callers may ensure the same groups at the same time.
      for (const { dir } of groups(name)) mkdirSync(dir, { recursive: true })
      return bounded(name, bounds)
    },
    limit: setLimits,
    async end(name) {
      const all = groups(name)
      for (const { tree, dir } of all) if (tree.version === 2) await killGroup(dir)
      const gone = await Promise.all(all.map(({ dir, tree }) => waitUntil(() => removeGroup(dir, tree), 10_000)))
      return gone.every(Boolean)
    },
    async tidy(keeps = () => false) {
      for (const tree of trees) {
        const parent = join(tree.mountPoint, tag)
        const entries = (await ignoring(['ENOENT'], readdir(parent, { withFileTypes: true }))) ?? []
        for (const entry of entries) {
          if (entry.isDirectory() && !keeps(entry.name)) await removeEmpty(join(parent, entry.name))
        }
        await removeEmpty(parent)
      }
    },
  }
}

function freezerOf(tree: Tree | undefined, tag: string): Freezer | undefined {
  if (tree?.freezer === undefined) return undefined
  const { freezer, mountPoint } = tree
  const group = (name: string) => join(mountPoint, tag, name)
  return {
    freeze: name => freezer.freeze(group(name)),
    thaw: name => freezer.thaw(group(name)),
    state: name => freezer.state(group(name)),
  }
}

/** Yields the files to write, in order: v1's limit of memory plus swap must never be below the memory limit. */
function* limits(tree: Tree, bounds: GroupBounds): Generator<readonly [name: string, value: string]> {
  const quota = String(Math.max(1000, Math.round(bounds.cpus * 100_000)))
  const memory = String(Math.floor(bounds.memoryBytes))
  for (const controller of tree.controllers) {
    if (controller === 'pids') yield ['pids.max', String(bounds.processes)]
    else if (tree.version === 2) {
      if (controller === 'cpu') yield ['cpu.max', `${quota} 100000`]
      else {
        yield ['memory.max', memory]
        yield ['memory.swap.max', '0']
      }
    } else if (controller === 'cpu') yield ['cpu.cfs_quota_us', quota]
    else {
      yield ['memory.memsw.limit_in_bytes', '-1']
      yield ['memory.limit_in_bytes', memory]
      yield ['memory.memsw.limit_in_bytes', memory]
    }
  }
}

/** Removes a group unless it is in use or gone. */
async function removeEmpty(dir: string): Promise<void> {
  await ignoring(['ENOENT', 'EBUSY', 'ENOTEMPTY'], rmdir(dir))
}

async function killGroup(dir: string): Promise<void> {
  await ignoring(['ENOENT', 'ENODEV', 'EACCES'], writeFile(join(dir, 'cgroup.kill'), '1', { flag: 'r+' }))
}

/**
 * Removes a group if it is empty; otherwise kills its members, also on trees without `cgroup.kill`. It then thaws a
 * frozen group of version 1: only then do the killed processes end, and none of them runs before.
 * @returns whether the group is gone
 */
async function removeGroup(dir: string, { version, freezer }: Tree): Promise<boolean> {
  try {
    await rmdir(dir)
    return true
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return true
    if (errorCode(error) !== 'EBUSY') throw error
  }
  const members = await ignoring(['ENOENT', 'ENODEV'], readFile(join(dir, 'cgroup.procs'), 'utf8'))
  for (const pid of members?.split('\n') ?? []) {
    if (Number(pid) > 1) {
      try {
        process.kill(Number(pid), 'SIGKILL')
      } catch {
        // It ended in the meantime.
      }
    }
  }
  if (version === 1) freezer?.thaw(dir)
  return false
}
