import { chmodSync, closeSync, mkdirSync, openSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { SandboxSpec } from '../driver.ts'
import { insidePaths } from '../inside-paths.ts'
import { hostNames, type LeaseFiles } from '../leases/lease-files.ts'
import { runProgram } from '../linux/run-program.ts'

/** The directories of /opt that belong to the platform. */
export const optNames = ['berth', 'runtime', 'extensions', 'source'] as const

/** Returns the directory whose content a container shows in these. */
export const optOf = (files: LeaseFiles): string => join(files.dir, 'opt')

/** Returns where a lease's directory has what a sandbox finds at a path below /opt. */
const outside = (files: LeaseFiles, path: string): string => join(optOf(files), path.slice('/opt/'.length))

/**
 * Makes these directories. They are a mount of their own that passes on what is mounted below it: a container that waits
 * already gets a lease's directories without a restart.
 */
export async function prepareShown(files: LeaseFiles, bundlesDir: string): Promise<void> {
  const directories = [
    ...['', ...optNames].map(name => join('/opt', name)),
    ...['/opt/berth/closed', insidePaths.bundles, insidePaths.objects],
  ]
  for (const path of directories) {
    mkdirSync(outside(files, path))
    chmodSync(outside(files, path), 0o755)
  }
  for (const path of [insidePaths.node, insidePaths.closedNode]) closeSync(openSync(outside(files, path), 'wx', 0o444))
  for (const path of insidePaths.programs) symlinkSync(`${insidePaths.bundles}/${basename(path)}`, outside(files, path))
  const script =
    'set -e; mount --bind "$1" "$1"; mount --make-private "$1"; mount --make-shared "$1"; mount -o bind,ro "$2" "$1/berth/bundles"'
  await runProgram('sh', ['-c', script, 'sh', optOf(files), bundlesDir])
}

/** What a lease shows below /opt. */
export type ShownPaths = Pick<SandboxSpec, 'runtime' | 'extensions' | 'engine'> & { readonly objects?: string }

/**
 * Mounts what a lease shows, read-only, where its container finds it.
 * @throws ProgramError if a directory is not there
 */
export async function showLease(files: LeaseFiles, shown: ShownPaths): Promise<void> {
  const extensions = shown.extensions ?? []
  for (const { id } of extensions) {
    mkdirSync(outside(files, `${insidePaths.extensions}/${id}`))
  }
  const mounts = [
    ...(shown.runtime === undefined ? [] : [[shown.runtime, insidePaths.runtime] as const]),
    ...(shown.objects === undefined ? [] : [[shown.objects, insidePaths.objects] as const]),
    ...extensions.map(({ id, directory }) => [directory, `${insidePaths.extensions}/${id}`] as const),
    ...(shown.engine === undefined ? [] : [[join(files.host, hostNames.engine), insidePaths.engine] as const]),
  ]
  if (mounts.length === 0) return
  // A mount becomes read-only by a second step, which other mounts of it do not follow. So it is made read-only aside, and
  // a copy of that goes to its place.
  const aside = join(files.host, 'aside')
  const script =
    'aside=$1; shift; set -e; while [ $# -gt 0 ]; do if [ -d "$1" ]; then mkdir "$aside"; else : > "$aside"; fi; ' +
    'mount -o bind,ro "$1" "$aside"; mount --make-private "$aside"; mount --bind "$aside" "$2"; umount "$aside"; if [ -d "$aside" ]; then rmdir "$aside"; else rm "$aside"; fi; shift 2; done'
  const args = mounts.flatMap(([source, target]) => [source, outside(files, target)])
  await runProgram('sh', ['-c', script, 'sh', aside, ...args])
}
