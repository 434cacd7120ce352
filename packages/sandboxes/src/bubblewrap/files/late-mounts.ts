import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { allSettled } from '@berth/platform/kit/all-settled.ts'
import type { LowerTrees } from '../../driver.ts'
import { diskNames, type LeaseFiles, leaseFilesAt } from '../../leases/lease-files.ts'
import { makeAgentDirectories } from '../../leases/loop-disk.ts'
import type { OwnerMap } from '../../linux/overlay.ts'
import { runProgram, systemPath } from '../../linux/run-program.ts'
import { systemMounts } from '../../linux/system-mounts.ts'
import { unmountBelow } from '../../linux/unmount-below.ts'
import { mountLowerTrees, shareBaselines } from './lower-trees.ts'

const PROBE_MS = 10_000

/**
 * Makes later mounts below a lease's files appear in its sandbox, which gets copies of this mount when it starts. The
 * mount has a peer group of its own, so what is mounted for one lease reaches no other sandbox.
 * @param isMounted whether the files are a file system of their own; if not, they are bound on themselves
 */
export async function shareFiles({ files }: LeaseFiles, isMounted: boolean): Promise<void> {
  if (!isMounted) await runProgram('mount', ['--bind', '--', files, files])
  await runProgram('mount', ['--make-shared', '--', files])
}

/** Makes the directory where objects may be mounted late, which no agent can write to. @returns its path */
export function makeObjectsTarget({ files }: LeaseFiles): string {
  const path = join(files, diskNames.objects)
  mkdirSync(path, { mode: 0o755 })
  return path
}

/** Trees for a sandbox that runs. */
export interface LateTrees {
  readonly lower: LowerTrees | undefined
  /** Directory of a mirror's objects. */
  readonly objects: string | undefined
}

/**
 * Mounts trees into a sandbox that runs. Its processes must not have read anything of a caller or an agent yet: they could
 * put a link where the tree is to be.
 * @throws OverlayError
 */
export async function mountLate(files: LeaseFiles, { lower, objects }: LateTrees, owners: OwnerMap): Promise<void> {
  const target = join('disk', diskNames.files, diskNames.objects)
  await allSettled([
    mountLowerTrees(files, lower, owners, objects === undefined ? [] : [{ source: objects, target }]),
    shareBaselines(files, lower?.baselines),
  ])
}

/**
 * Returns the reason why trees cannot be mounted into sandboxes that run, by trying it.
 * @param dir made and removed; on the file system of leases
 * @param owners whose uids no sandbox uses
 */
export async function whyNoLateMounts(dir: string, owners: OwnerMap, bwrapPath: string): Promise<string | undefined> {
  const files = leaseFilesAt(dir, 'probe')
  try {
    for (const path of [files.host, files.disk]) await mkdir(path, { recursive: true, mode: 0o700 })
    makeAgentDirectories(files.files)
    await shareFiles(files, false)
    const tree = join(dir, 'tree')
    await mkdir(join(tree, 'inner'), { recursive: true })
    for (const path of [tree, join(tree, 'inner')]) chownSync(path, owners.onDisk, owners.onDisk)
    const shown = ['--bind', files.workspace, '/workspace', '--ro-bind', makeObjectsTarget(files), '/objects']
    const script = 'echo started; read -r _; test -d /workspace/project/inner -a -d /objects/inner'
    const args = ['--unshare-pid', '--die-with-parent', ...systemMounts(), ...shown, '--', 'sh', '-c', script]
    const child = spawn(bwrapPath, args, {
      env: { PATH: systemPath },
      cwd: '/',
      stdio: ['pipe', 'pipe', 'ignore'],
      signal: AbortSignal.timeout(PROBE_MS),
      killSignal: 'SIGKILL',
    })
    const closed = once(child, 'close')
    // `closed` reports what happened to it.
    child.stdin.on('error', () => undefined)
    await Promise.race([once(child.stdout, 'data'), closed])
    const lower: LowerTrees = { places: { project: [tree] }, baselines: {} }
    try {
      await mountLate(files, { lower, objects: tree }, owners)
    } finally {
      child.stdin.end('\n')
    }
    const [code] = await closed
    return code === 0 ? undefined : 'a mount of this host does not appear in a sandbox that runs'
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    await unmountBelow(dir)
    await rm(dir, { recursive: true, force: true })
  }
}
