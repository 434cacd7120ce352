import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { mountLowerTrees } from '@berth/sandboxes/bubblewrap/files/lower-trees.ts'
import { leaseFilesAt } from '@berth/sandboxes/leases/lease-files.ts'
import { makeAgentDirectories } from '@berth/sandboxes/leases/loop-disk.ts'
import fc from 'fast-check'

/** Users outside every range from which a driver on this host takes its uids: of lower trees, and of the lease. */
export const overlayUsers = { onDisk: 190_015, shown: 190_017 } as const

/** Makes the files of a lease at a directory, with layers below its project, and no sandbox. The caller unmounts them. */
export async function overlaidLease(dir: string, project: readonly [string, ...string[]], commit?: string) {
  const files = leaseFilesAt(dir, 'lease')
  for (const path of [files.host, files.disk]) mkdirSync(path, { recursive: true })
  makeAgentDirectories(files.files)
  const { shown } = overlayUsers
  for (const path of [files.workspace, files.home]) execFileSync('chown', [`${shown}:${shown}`, path])
  const known = commit === undefined ? {} : { commit }
  await mountLowerTrees(files, { places: { project }, baselines: {}, ...known }, overlayUsers)
  const overlay = { directory: join(files.files, 'upper/project'), at: 'project', scratch: files.host, ...known }
  /** Runs a script as the agent, below its workspace. */
  const run = (script: string, at = '') => {
    const as = ['--reuid', String(shown), '--regid', String(shown), '--clear-groups', 'sh', '-c', script]
    const env = { PATH: '/usr/bin:/bin' }
    execFileSync('setpriv', as, { cwd: join(files.workspace, at), stdio: 'ignore', env })
  }
  return { files, overlay, run }
}

/** Returns lines of sh that change something. Each of them may fail. @param lines with paths as `$1` and `$2` */
export const changesOf = (lines: string, path: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom(...lines.trim().split('\n')), path, path)
    .map(([line, one, other]) => `(${line.trim().replaceAll('$1', one).replaceAll('$2', other)}) || :`)
