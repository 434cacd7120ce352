import { realpath } from 'node:fs/promises'
import { isAbsolute, normalize, relative } from 'node:path'
import type { LowerTrees, SandboxBounds, SandboxSpec } from '../driver.ts'
import { insidePaths } from '../inside-paths.ts'
import { isLeaseId } from '../linux/instance.ts'

/** The sandbox's own paths. A mount may neither cover them nor lie in the host's directory of that name. */
const ownTrees = [
  '/proc',
  '/sys',
  '/dev',
  insidePaths.run,
  '/opt/berth',
  '/opt/source',
  insidePaths.runtime,
  insidePaths.extensions,
  insidePaths.platform,
]
/** Each layer makes every look-up of a path slower. */
const MAX_LAYERS = 3
const extensionId = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/
/** A mount may lie inside these but not cover them. */
const ownRoots = ['/etc', '/usr', '/tmp', insidePaths.workspace, insidePaths.home]

/**
 * Refuses a spec that could not be enforced, or that would expose something of the service to the sandbox.
 * @param dataDir the service's own, without symbolic links
 */
export async function assertSpec(spec: SandboxSpec, dataDir: string): Promise<void> {
  if (!isLeaseId(spec.leaseId)) throw new TypeError(`not a lease id: ${JSON.stringify(spec.leaseId)}`)
  if (spec.command.length === 0) throw new TypeError('a sandbox needs a command')
  if (spec.command.some(word => word.includes('\0'))) throw new TypeError('a command cannot hold NUL')
  assertBounds(spec.bounds)
  if (spec.runtime !== undefined && !isAbsolute(spec.runtime)) throw new TypeError('a runtime needs an absolute path')
  if (spec.layer !== undefined && !isAbsolute(spec.layer)) throw new TypeError('a layer needs an absolute path')
  assertLower(spec.lower?.places ?? {})
  for (const { id, directory } of spec.extensions ?? []) {
    if (!extensionId.test(id) || id.includes('..')) throw new TypeError(`not an extension's id: ${JSON.stringify(id)}`)
    if (!isAbsolute(directory)) throw new TypeError('an extension needs an absolute path')
  }
  for (const mount of spec.mounts) await assertMount(mount, dataDir)
}

function assertLower(places: LowerTrees['places']): void {
  if (places.project !== undefined && places.workspace !== undefined)
    throw new TypeError('a sandbox has a lower tree for its workspace or for its project, not both')
  for (const layers of Object.values(places)) {
    if (!layers.every(isAbsolute)) throw new TypeError('lower trees need absolute paths')
    if (layers.length > MAX_LAYERS) throw new TypeError(`a lower tree has at most ${MAX_LAYERS} layers`)
  }
}

async function assertMount(mount: string, dataDir: string): Promise<void> {
  if (!isAbsolute(mount) || normalize(mount) !== mount || mount.endsWith('/') || mount.includes('\0')) {
    throw new TypeError(`not a mount: ${JSON.stringify(mount)}; name an absolute path below /`)
  }
  for (const path of [mount, await realpath(mount)]) {
    const own = ownTrees.find(tree => overlap(path, tree)) ?? ownRoots.find(root => contains(path, root))
    if (own !== undefined) throw new TypeError(`mount ${mount} would cover the sandbox's own ${own}`)
    if (overlap(path, dataDir)) throw new TypeError(`mount ${mount} would show the sandbox the service's data`)
  }
}

function overlap(one: string, other: string): boolean {
  return contains(one, other) || contains(other, one)
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
