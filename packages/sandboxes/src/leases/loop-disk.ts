import { chmodSync, mkdirSync } from 'node:fs'
import { chmod, mkdir, open, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoring } from '@berth/platform/kit/system-errors.ts'
import { ProgramError, runProgram } from '../linux/run-program.ts'
import { diskNames } from './lease-files.ts'

/** The agent's directories on a disk. `tmp` has the mode of a shared /tmp. */
export const agentDirectories = [
  [diskNames.workspace, 0o755],
  [diskNames.home, 0o700],
  [diskNames.tmp, 0o1777],
] as const

/** Creates the agent's directories below `files`, not yet owned by a lease's uid. */
export function makeAgentDirectories(files: string): void {
  mkdirSync(files, { recursive: true, mode: 0o755 })
  for (const [name, mode] of agentDirectories) {
    mkdirSync(join(files, name))
    chmodSync(join(files, name), mode)
  }
}

/**
 * Creates a file system of exactly `sizeBytes` in a sparse file and mounts it at `<dir>/files`. It has no journal,
 * because no sandbox outlives the host. `discard` returns the space of deleted files to the host; `noinit_itable` keeps
 * the kernel from filling the sparse file with zeroes.
 */
export async function makeLoopDisk(dir: string, sizeBytes: number): Promise<void> {
  const image = join(dir, diskNames.image)
  const files = join(dir, diskNames.files)
  await mkdir(files, { recursive: true, mode: 0o755 })
  const handle = await open(image, 'wx', 0o600)
  try {
    await handle.truncate(Math.floor(sizeBytes))
  } finally {
    await handle.close()
  }
  const traits = ['-O', '^has_journal', '-E', 'lazy_itable_init=1,nodiscard']
  await runProgram('mkfs.ext4', ['-q', '-F', '-m', '0', ...traits, image])
  await runProgram('mount', ['-t', 'ext4', '-o', 'loop,noinit_itable,discard,nosuid,nodev,noatime', image, files])
  await rm(join(files, 'lost+found'), { recursive: true })
  await chmod(files, 0o755)
  makeAgentDirectories(files)
}

/** Returns whether a disk directory's file system is mounted. After a reboot the directory exists without the mount. */
export async function isMounted(dir: string): Promise<boolean> {
  const [outer, inner] = await Promise.all(
    [dir, join(dir, diskNames.files)].map(path => ignoring(['ENOENT', 'EIO'], stat(path))),
  )
  return outer !== undefined && inner !== undefined && outer.dev !== inner.dev
}

/**
 * Unmounts and removes a disk directory in any state. No process may run inside. Another process of this host may do the
 * same at once.
 */
export async function removeLoopDisk(dir: string): Promise<void> {
  for (let tries = 0; (await isMounted(dir)) && tries < 3; tries++) {
    try {
      // A stray reader on the host (a backup, a `du`) must not block the removal: the last try detaches the mount
      // lazily.
      await runProgram('umount', [...(tries < 2 ? [] : ['-l']), join(dir, diskNames.files)])
    } catch (error) {
      if (!(error instanceof ProgramError) || (tries === 2 && (await isMounted(dir)))) throw error
    }
  }
  await rm(dir, { recursive: true, force: true })
}
