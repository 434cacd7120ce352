import { chownSync, renameSync } from 'node:fs'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { allSettled } from '../../kit/all-settled.ts'
import type { SandboxSpec } from '../driver.ts'
import { errorCode } from '../linux/errors.ts'
import { hostNames, type LeaseFiles, leaseFiles } from './files/lease-files.ts'
import { mountLowerTrees } from './files/lower-trees.ts'
import { writeRecord } from './files/record.ts'
import { writeVisibleFile } from './files/visible-files.ts'
import { type Plan, passwdFiles } from './launch/arguments.ts'
import type { Blank } from './launch/blank.ts'
import type { DriverContext } from './launch/driver-context.ts'
import { launch } from './launch/launch.ts'

/** The lease id already names a sandbox, running or left over. */
export class LeaseInUseError extends Error {
  override readonly name = 'LeaseInUseError'
}

/** Assigns a lease to a blank. If several processes create the same id, only one succeeds. */
export function nameLease(context: DriverContext, blank: Blank, leaseId: string): LeaseFiles {
  const files = leaseFiles(context.instance, leaseId)
  try {
    renameSync(blank.files.dir, files.dir)
    return files
  } catch (error) {
    if (!['EEXIST', 'ENOTEMPTY', 'ENOTDIR'].includes(errorCode(error) ?? '')) throw error
    throw new LeaseInUseError(`lease ${leaseId} already exists`, { cause: error })
  }
}

/**
 * Starts the sandbox of a blank that has its lease. On failure it leaves everything in place, and the caller destroys
 * the lease, just as for a sandbox that another process left incomplete. It writes the lease's small files
 * synchronously. These are a few dozen system calls of microseconds each; going through the thread pool took longer
 * than everything else (measured: 4 to 8 ms).
 * @param beforeStart runs when everything but the processes exists
 */
export async function makeSandbox(
  context: DriverContext,
  blank: Blank,
  files: LeaseFiles,
  spec: SandboxSpec,
  beforeStart: () => Promise<void>,
): Promise<void> {
  const uid = context.uids.claim(files.dir)
  writeRecord(files, spec, uid)
  for (const [name, content] of passwdFiles(uid)) writeVisibleFile(join(files.host, name), content)
  if (context.host.privileged) for (const dir of [files.workspace, files.home, files.tmp]) chownSync(dir, uid, uid)
  if (spec.engine !== undefined) await writeEngine(files, spec.engine)
  const { host, filterPath, instance, lowerOwner } = context
  // At once, as each takes a few milliseconds; all of them end before a failure is cleared up.
  await allSettled([
    spec.lower === undefined ? undefined : mountLowerTrees(files, spec.lower, { onDisk: lowerOwner, shown: uid }),
    beforeStart(),
  ])
  const plan = planOf(context, files, spec, uid, await context.closedNode.path())
  const userNamespacePath = blank.userNamespace?.map(uid)
  await launch(blank, plan, { bwrapPath: host.bwrapPath, filterPath, userNamespacePath, tag: instance.tag })
}

/** Writes the lease's engine outside the sandbox, where it goes with the lease. Every uid may read it, none write it. */
async function writeEngine(files: LeaseFiles, engine: AsyncIterable<Uint8Array>): Promise<void> {
  const path = join(files.host, hostNames.engine)
  await writeFile(path, engine, { flag: 'wx' })
  await chmod(path, 0o444)
}

function planOf(
  context: DriverContext,
  files: LeaseFiles,
  spec: SandboxSpec,
  uid: number,
  closedNodePath: string,
): Plan {
  const { host, options, etcDir, systemMounts, processMasks, cgroups } = context
  return {
    spec,
    files,
    uid,
    privileged: host.privileged,
    canDisableUserNamespaces: host.canDisableUserNamespaces,
    nodePath: options.nodePath,
    closedNodePath,
    bundlesDir: options.bundlesDir,
    etcDir,
    systemMounts,
    processMasks,
    rlimits: {
      memory: !cgroups?.controllers.has('memory'),
      processes: !cgroups?.controllers.has('pids'),
    },
  }
}
