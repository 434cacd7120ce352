import { chownSync } from 'node:fs'
import { join } from 'node:path'
import { allSettled } from '@berth/platform/kit/all-settled.ts'
import type { SandboxSpec, SandboxTrust } from '../driver.ts'
import { passwdFiles } from '../leases/inside-files.ts'
import { writeEngine } from '../leases/lease-engine.ts'
import type { LeaseFiles } from '../leases/lease-files.ts'
import { writeRecord } from '../leases/record.ts'
import { layerBundle, systemBundle, writeTrust } from '../leases/trust-files.ts'
import { writeVisibleFile } from '../leases/visible-files.ts'
import { mountLowerTrees, shareBaselines } from './files/lower-trees.ts'
import { mountSystemLayer } from './files/system-layer.ts'
import { insideCommand, type Plan, sandboxOptions } from './launch/arguments.ts'
import type { Blank } from './launch/blank.ts'
import type { DriverContext } from './launch/driver-context.ts'
import { launch } from './launch/launch.ts'

/**
 * Starts the sandbox of a blank that has its lease. On failure it leaves everything in place, and the caller destroys
 * the lease, just as for a sandbox that another process left incomplete. It writes the lease's small files
 * synchronously. These are a few dozen system calls of microseconds each; going through the thread pool took longer
 * than everything else (measured: 4 to 8 ms).
 * @param beforeStart runs when everything but the processes exists
 * @param objects directory that it shows as a mirror's objects
 * @returns the sandbox's uid
 */
export async function makeSandbox(
  context: DriverContext,
  blank: Blank,
  files: LeaseFiles,
  spec: SandboxSpec,
  beforeStart: () => Promise<void>,
  objects?: string,
): Promise<number> {
  const uid = context.uids.claim(files.dir)
  writeRecord(files, spec, uid)
  for (const [name, content] of passwdFiles(uid)) writeVisibleFile(join(files.host, name), content)
  if (context.host.privileged) for (const dir of [files.workspace, files.home, files.tmp]) chownSync(dir, uid, uid)
  if (spec.engine !== undefined) await writeEngine(files, spec.engine)
  const bundlePath = spec.trust === undefined ? undefined : trust(files, spec.trust, spec.layer)
  const { host, filterPath, instance, lowerOwner } = context
  // At once, as each takes a few milliseconds; all of them end before a failure is cleared up.
  await allSettled([
    spec.lower === undefined ? undefined : mountLowerTrees(files, spec.lower, { onDisk: lowerOwner, shown: uid }),
    shareBaselines(files, spec.lower?.baselines),
    beforeStart(),
  ])
  const systemMounts = spec.layer === undefined ? context.systemMounts : await mountSystemLayer(files, spec.layer)
  const plan = planOf(context, files, spec, {
    ...{ uid, systemMounts, closedNodePath: await context.closedNode.path() },
    ...(bundlePath !== undefined && { bundlePath }),
    ...(objects !== undefined && { objects }),
  })
  const userNamespacePath = blank.userNamespace?.map(uid)
  const launched = { files, options: sandboxOptions(plan), command: insideCommand(plan), ...spec.bounds }
  await launch(blank.socket, launched, { bwrapPath: host.bwrapPath, filterPath, userNamespacePath, tag: instance.tag })
  return uid
}

/** Writes what the sandbox trusts. @returns the file of its system that this covers; undefined if it shows none */
function trust(files: LeaseFiles, authority: SandboxTrust, layer: string | undefined): string | undefined {
  const system = layer === undefined ? systemBundle() : layerBundle(layer)
  writeTrust(files.run, system, authority)
  return system.path?.startsWith('/etc/') ? system.path : undefined
}

/** Returns the bounds that rlimits have to keep on this host. */
export const rlimitsOf = (cgroups: DriverContext['cgroups']): Plan['rlimits'] => ({
  memory: !cgroups?.controllers.has('memory'),
  processes: !cgroups?.controllers.has('pids'),
})

function planOf(
  context: DriverContext,
  files: LeaseFiles,
  spec: SandboxSpec,
  own: Pick<Plan, 'uid' | 'systemMounts' | 'closedNodePath' | 'bundlePath' | 'objects'>,
): Plan {
  const { host, options, etcDir, processMasks, cgroups } = context
  return {
    spec,
    files,
    ...own,
    privileged: host.privileged,
    canDisableUserNamespaces: host.canDisableUserNamespaces,
    nodePath: options.nodePath,
    bundlesDir: options.bundlesDir,
    etcDir,
    processMasks,
    rlimits: rlimitsOf(cgroups),
  }
}
