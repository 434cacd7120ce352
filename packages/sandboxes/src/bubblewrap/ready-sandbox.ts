import { writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { objectsDirectory } from '../confined/objects-directory.ts'
import type { SandboxBounds, SandboxSpec } from '../driver.ts'
import { attachToSupervisor } from '../leases/attach.ts'
import { hostNames, type LeaseFiles, leaseFiles } from '../leases/lease-files.ts'
import { nameLease } from '../leases/name-lease.ts'
import { bindSupervisor, prepareSupervisor } from '../leases/ready-supervisor.ts'
import { makeSandbox } from './create-lease.ts'
import { makeObjectsTarget, mountLate } from './files/late-mounts.ts'
import { removeBlank } from './launch/blank.ts'
import type { DriverContext } from './launch/driver-context.ts'
import type { Readiness } from './pool-options.ts'

/**
 * A sandbox that stands but has no lease: its supervisor is up and its agent has answered its first line. It has no proxy, so no
 * way out, and it ends with this process, whose connection its supervisor holds.
 */
export interface ReadySandbox {
  readonly files: LeaseFiles
  readonly uid: number
  readonly line: Socket
}

/** Makes a sandbox with the usual bounds ready. A failure leaves nothing behind. */
export async function makeReady(
  context: DriverContext,
  bounds: SandboxBounds,
  { command, agent }: Readiness,
): Promise<ReadySandbox> {
  const blank = await context.blanks.take(bounds)
  const { files } = blank
  let line: Socket | undefined
  try {
    writeFileSync(join(files.host, hostNames.mark), files.leaseId, { mode: 0o600 })
    const spec = { leaseId: files.leaseId, command, bounds, mounts: [], egress: { reach: [] } }
    const objects = context.noLateMounts === undefined ? makeObjectsTarget(files) : undefined
    const uid = await makeSandbox(context, blank, files, spec, async () => undefined, objects)
    line = await attachToSupervisor(files)
    await prepareSupervisor(line, agent)
    line.unref()
    return { files, uid, line }
  } catch (error) {
    line?.destroy()
    await removeBlank(context, files.dir)
    throw error
  } finally {
    blank.userNamespace?.release()
  }
}

/**
 * Tells whether a sandbox that stands already is what the spec asks for, or becomes it by mounts. Its processes stand in
 * the workspace, so no mount may cover that.
 */
export function fits({ noLateMounts, options }: DriverContext, spec: SandboxSpec, { command }: Readiness): boolean {
  const { bounds } = options
  const { extensions = [], mounts, objects, runtime, engine, lower, layer, trust } = spec
  const late = noLateMounts === undefined && Object.keys(lower?.places ?? {}).every(place => place === 'project')
  const shown = [runtime, engine, layer, trust, ...(late ? [] : [objects, lower])].filter(one => one !== undefined)
  const plain = mounts.length === 0 && extensions.length === 0 && shown.length === 0
  return plain && isDeepStrictEqual(spec.bounds, bounds) && isDeepStrictEqual([...spec.command], [...command])
}

/**
 * Gives a sandbox the name of its lease. The uid follows first: whatever this process leaves behind is then found under the
 * lease.
 * @throws LeaseInUseError, with nothing changed for the lease; the caller discards the sandbox
 */
export function nameReady(context: DriverContext, ready: ReadySandbox, leaseId: string): void {
  context.uids.move(ready.uid, leaseFiles(context.instance, leaseId).dir)
  try {
    nameLease(context.instance, ready.files, leaseId)
  } catch (error) {
    context.uids.move(ready.uid, ready.files.dir)
    throw error
  }
}

/** Returns the directory of the objects that a spec names. */
export const objectsOf = ({ options }: DriverContext, { objects }: SandboxSpec): string | undefined =>
  objects === undefined ? undefined : objectsDirectory(options.objects, objects)

/**
 * Mounts the trees of a spec into a sandbox that has its name.
 * @throws OverlayError
 */
export async function mountIntoReady(context: DriverContext, { uid }: ReadySandbox, spec: SandboxSpec): Promise<void> {
  const late = { lower: spec.lower, objects: objectsOf(context, spec) }
  if (late.lower === undefined && late.objects === undefined) return
  await mountLate(leaseFiles(context.instance, spec.leaseId), late, { onDisk: context.lowerOwner, shown: uid })
}

/** Lets a sandbox that has its name outlive this process. */
export async function bindReady({ line }: ReadySandbox): Promise<void> {
  line.ref()
  await bindSupervisor(line)
}

/** Ends a sandbox that nobody has asked for. */
export async function discardReady(context: DriverContext, { files, line }: ReadySandbox): Promise<void> {
  line.destroy()
  await removeBlank(context, files.dir)
}
