import { readFixedDocument } from '../../environments/fix-environment.ts'
import type { Layer } from '../../sandboxes/packages/package-layers.ts'
import { PackagesFailed } from '../../sandboxes/packages/packages-failed.ts'
import { markLayer } from '../../sessions/leases/lease-layer-sql.ts'
import type { LeaseRow } from '../../sessions/leases/lease-sql.ts'
import { HostFull } from '../../storage/host-cache.ts'
import { ApplyFailed } from '../apply/apply-failed.ts'
import { watchApply } from '../apply/watch-apply.ts'
import type { Claim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { underFence } from '../claim/under-fence.ts'

/** How a fresh sandbox stands to the system packages of its environment. */
export type SystemPackages =
  | { readonly state: 'built' | 'used'; readonly directory: string; readonly output: string }
  | { readonly state: 'present' }
  | { readonly state: 'unavailable'; readonly reason: string }
  | { readonly state: 'failed'; readonly output: string }

/**
 * Returns the layer with the system packages of a lease's environment, on this host and whole, or why its sandbox is
 * made without one. Making a layer ends with the Run: an apply that begins then tells that it was cancelled.
 *
 * @returns null without an environment, and if the environment names no packages
 * @throws ClaimLost, or the signal's reason
 */
export async function findPackages(
  context: ExecutionContext,
  claim: Claim,
  lease: LeaseRow,
  signal: AbortSignal,
): Promise<SystemPackages | null> {
  const { db, log, packages: layers } = context
  const { organizationId } = claim
  const { environment_id: environmentId, environment_revision: revision } = lease
  if (environmentId === null || revision === null) return null
  const { packages } = await readFixedDocument(db, { organizationId, environmentId }, revision)
  if (packages.length === 0) return null
  if (await isPresent(context, packages)) return { state: 'present' }
  if (layers.fault !== null) return { state: 'unavailable', reason: `this host installs no packages: ${layers.fault}` }
  using watch = watchApply(context, claim, signal)
  try {
    const digest = await layers.digestOf(packages)
    // Before the host has it, so that nobody removes it meanwhile.
    await underFence(context, claim, tx => markLayer(tx, lease.id, digest))
    return found(await layers.provide(packages, watch.signal))
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof PackagesFailed) return { state: 'failed', output: error.message }
    if (error instanceof HostFull) {
      log.warn({ err: error, leaseId: lease.id }, 'this host has no room for system packages')
      return { state: 'unavailable', reason: 'this host has no room for them' }
    }
    if (error instanceof ApplyFailed) return { state: 'unavailable', reason: 'the Run was cancelled' }
    throw error
  }
}

/** A host without dpkg has no package of its own. */
async function isPresent({ packages: layers }: ExecutionContext, names: readonly string[]): Promise<boolean> {
  return layers.knowsSystem && (await layers.areInstalled(names))
}

const found = ({ directory, output }: Layer): SystemPackages => ({
  state: output === null ? 'used' : 'built',
  directory,
  output: output ?? '',
})
