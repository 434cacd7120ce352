import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, normalize, relative } from 'node:path'
import type { SandboxBounds, SandboxSpec } from '../driver.ts'
import { isLeaseId } from './instance.ts'

/**
 * Refuses a spec that could not be enforced or that would show the sandbox something of the service.
 *
 * @param secretDirs directories no mount may lie in or contain
 */
export async function assertSpec(spec: SandboxSpec, secretDirs: readonly string[]): Promise<void> {
  if (!isLeaseId(spec.leaseId)) throw new TypeError(`not a lease id: ${JSON.stringify(spec.leaseId)}`)
  if (spec.command.length === 0) throw new TypeError('a sandbox needs a command')
  if (spec.command.some(word => word.includes('\0'))) throw new TypeError('a command cannot hold NUL')
  assertBounds(spec.bounds)
  for (const mount of spec.mounts) {
    if (!isAbsolute(mount) || normalize(mount) !== mount || mount === '/' || mount.includes('\0')) {
      throw new TypeError(`not a mount: ${JSON.stringify(mount)}; name an absolute path below /`)
    }
    await stat(mount)
    for (const secret of secretDirs) {
      if (contains(await realpath(mount), secret) || contains(secret, await realpath(mount))) {
        throw new TypeError(`mount ${mount} would show the sandbox ${secret}`)
      }
    }
  }
}

function assertBounds(bounds: SandboxBounds): void {
  for (const [name, value] of Object.entries(bounds)) {
    if (!Number.isFinite(value) || value <= 0) throw new RangeError(`bound ${name} must be a positive number`)
  }
}

function contains(outer: string, inner: string): boolean {
  const path = relative(outer, inner)
  return path === '' || (path !== '..' && !path.startsWith('../'))
}
