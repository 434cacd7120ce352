import { join } from 'node:path'
import { cgroupFreezer } from './cgroup-freezer.ts'
import type { parseTrees } from './cgroups.ts'

/**
 * Returns whether a group of an instance was asked to stop. It reads kernel memory and creates nothing, so any process may
 * ask.
 */
export function isGroupStopped(
  trees: readonly Pick<ReturnType<typeof parseTrees>[number], 'version' | 'mountPoint'>[],
  tag: string,
  name: string,
): boolean {
  return trees.some(({ version, mountPoint }) => isStopped(version, join(mountPoint, tag, name)))
}

/** Returns whether the group in a directory was asked to stop. */
export function isStopped(version: 1 | 2, group: string): boolean {
  const state = cgroupFreezer(version, group)?.state(group)
  return state === 'freezing' || state === 'frozen'
}
