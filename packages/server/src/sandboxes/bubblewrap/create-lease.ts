import { chownSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { SandboxSpec } from '../driver.ts'
import { allSettled } from './all-settled.ts'
import { type Plan, passwdFiles } from './arguments.ts'
import { errorCode } from './errors.ts'
import { launch } from './launch.ts'
import { type LeaseFiles, leaseFiles } from './lease-files.ts'
import { makeAgentDirectories } from './loop-disk.ts'
import { writeRecord } from './record.ts'
import { makeVisibleDirectory, writeVisibleFile } from './visible-files.ts'
import type { Workshop } from './workshop.ts'

/** The lease id names a sandbox already, living or left over. */
export class LeaseInUseError extends Error {
  override readonly name = 'LeaseInUseError'
}

/** Takes the lease's name: of any number of creates for one id, in whatever processes, only one passes. */
export function reserveLease(workshop: Workshop, leaseId: string): LeaseFiles {
  const files = leaseFiles(workshop.instance, leaseId)
  try {
    mkdirSync(files.dir, { mode: 0o700 })
    return files
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
    throw new LeaseInUseError(`lease ${leaseId} exists`, { cause: error })
  }
}

/**
 * Makes a reserved lease's sandbox. It leaves whatever it made where it fails; the caller destroys the lease then,
 * by the same way that ends one which another process left half made.
 *
 * The lease's small files are made synchronously: some 40 system calls of a few microseconds each, where a trip of each
 * through the thread pool took longer than all the rest (measured: 4 to 8 ms).
 *
 * @param beforeStart done when all but the processes is there
 */
export async function makeSandbox(
  workshop: Workshop,
  files: LeaseFiles,
  spec: SandboxSpec,
  beforeStart: () => Promise<void>,
): Promise<void> {
  const uid = workshop.uids.claim(files.dir)
  makeDirectories(files)
  writeRecord(files, spec, uid)
  for (const [name, content] of passwdFiles(uid)) writeVisibleFile(join(files.host, name), content)
  const [joinFiles] = await allSettled([
    workshop.cgroups?.make(spec.leaseId, spec.bounds) ?? [],
    makeDisk(workshop, files, spec.bounds.diskBytes),
    beforeStart(),
  ])
  if (workshop.host.privileged) for (const dir of [files.workspace, files.home, files.tmp]) chownSync(dir, uid, uid)
  const { host, instance } = workshop
  const means = { shell: host.shell, bwrapPath: host.bwrapPath, tag: instance.tag }
  await launch(planOf(workshop, files, spec, uid), means, joinFiles)
}

function makeDirectories(files: LeaseFiles): void {
  mkdirSync(files.host, { mode: 0o700 })
  makeVisibleDirectory(files.run)
  makeVisibleDirectory(files.platform)
  makeVisibleDirectory(files.inputs)
}

async function makeDisk(workshop: Workshop, files: LeaseFiles, sizeBytes: number): Promise<void> {
  if (workshop.spares) return workshop.spares.take(files.disk, sizeBytes)
  mkdirSync(files.disk, { mode: 0o700 })
  makeAgentDirectories(files.files)
}

function planOf(workshop: Workshop, files: LeaseFiles, spec: SandboxSpec, uid: number): Plan {
  const { host, options, etcDir, systemMounts, cgroups } = workshop
  return {
    spec,
    files,
    uid,
    privileged: host.privileged,
    canDisableUserNamespaces: host.canDisableUserNamespaces,
    nodePath: options.nodePath,
    bundlesDir: options.bundlesDir,
    etcDir,
    systemMounts,
    rlimits: {
      memory: !cgroups?.controllers.has('memory'),
      processes: !cgroups?.controllers.has('pids'),
    },
  }
}
