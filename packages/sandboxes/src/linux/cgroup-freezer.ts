import { accessSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode } from '@berth/platform/kit/system-errors.ts'

/** The state of a group's processes. `gone`: the group is empty or does not exist. */
export type FreezeState = 'running' | 'freezing' | 'frozen' | 'gone'

/** Stops and continues all processes of a group at once, including those being forked. */
export interface CgroupFreezer {
  /** Asks the kernel to stop the group. A process inside a system call stops when it leaves the call. */
  freeze(dir: string): void
  /** @returns whether the group had been asked to stop */
  thaw(dir: string): boolean
  state(dir: string): FreezeState
}

/** Reads a file of a group. These files are kernel memory, so synchronous access costs microseconds. */
function read(dir: string, file: string): string | undefined {
  try {
    return readFileSync(join(dir, file), 'utf8').trim()
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
}

function write(dir: string, file: string, value: string): void {
  try {
    writeFileSync(join(dir, file), value, { flag: 'r+' })
  } catch (error) {
    if (!isGone(error)) throw error
  }
}

const isGone = (error: unknown): boolean => ['ENOENT', 'ENODEV'].includes(errorCode(error) ?? '')

/** The freezer of version 2. A killed process ends even if its group is frozen. */
const unified: CgroupFreezer = {
  freeze: dir => write(dir, 'cgroup.freeze', '1'),
  thaw(dir) {
    if (read(dir, 'cgroup.freeze') !== '1') return false
    write(dir, 'cgroup.freeze', '0')
    return true
  },
  state(dir) {
    const events = read(dir, 'cgroup.events')
    if (events === undefined || /^populated 0$/m.test(events)) return 'gone'
    if (/^frozen 1$/m.test(events)) return 'frozen'
    return read(dir, 'cgroup.freeze') === '1' ? 'freezing' : 'running'
  },
}

/** The freezer of version 1. A killed process ends only when its group is thawed, before it runs again. */
const legacy: CgroupFreezer = {
  freeze: dir => write(dir, 'freezer.state', 'FROZEN'),
  thaw(dir) {
    const state = read(dir, 'freezer.state')
    if (state === undefined || state === 'THAWED') return false
    write(dir, 'freezer.state', 'THAWED')
    return true
  },
  state(dir) {
    const state = read(dir, 'freezer.state')
    if (state === undefined || read(dir, 'cgroup.procs') === '') return 'gone'
    return state === 'FROZEN' ? 'frozen' : state === 'FREEZING' ? 'freezing' : 'running'
  },
}

/**
 * Returns the freezer of a version of cgroups; `parent` is any group but the root. Undefined if this kernel has none.
 */
export function cgroupFreezer(version: 1 | 2, parent: string): CgroupFreezer | undefined {
  try {
    accessSync(join(parent, version === 2 ? 'cgroup.freeze' : 'freezer.state'))
    return version === 2 ? unified : legacy
  } catch {
    return undefined
  }
}
