import { once } from 'node:events'
import { join } from 'node:path'
import { objectsDirectory } from '../confined/objects-directory.ts'
import type { SandboxSpec } from '../driver.ts'
import { writeEngine } from '../leases/lease-engine.ts'
import { hostNames, type LeaseFiles } from '../leases/lease-files.ts'
import { writeRecord } from '../leases/record.ts'
import { bundleOf, overwriteInPlace, systemBundle, writeTrust } from '../leases/trust-files.ts'
import { commandLine } from './container-arguments.ts'
import type { ContainerBlank } from './container-blank.ts'
import type { OciContext } from './oci-context.ts'
import { showLease } from './shown-files.ts'

/**
 * Turns a waiting container that has its lease into the sandbox. On failure it leaves everything in place, and the caller
 * destroys the lease.
 * @param beforeStart runs when everything but the command exists
 */
export async function makeContainer(
  { authorities, options, uids }: OciContext,
  blank: ContainerBlank,
  files: LeaseFiles,
  spec: SandboxSpec,
  beforeStart: () => Promise<void>,
): Promise<void> {
  uids.move(blank.uid, files.dir)
  writeRecord(files, spec, blank.uid)
  if (spec.engine !== undefined) await writeEngine(files, spec.engine)
  if (spec.trust !== undefined) {
    const system = authorities === '' ? systemBundle() : { text: authorities }
    writeTrust(files.run, system, spec.trust)
    // The container that waited has the file already.
    if (authorities !== '') overwriteInPlace(join(files.host, hostNames.authorities), bundleOf(system, spec.trust))
  }
  const { engine, extensions, runtime } = spec
  await Promise.all([
    showLease(files, {
      ...(engine && { engine }),
      ...(extensions && { extensions }),
      ...(runtime !== undefined && { runtime }),
      ...(spec.objects !== undefined && { objects: objectsDirectory(options.objects, spec.objects) }),
    }),
    beforeStart(),
  ])
  const { socket } = blank
  socket.ref()
  socket.end(commandLine(spec.command))
  await once(socket, 'finish')
  socket.destroy()
}
