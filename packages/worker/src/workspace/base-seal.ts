import { isCheckout } from '@berth/core/repositories/checkouts.ts'
import type { LeaseRow } from '@berth/core/sessions/leases/lease-sql.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { failureFields } from '../supervisor/errors.ts'

/**
 * Begins to seal the checkout that a lease's sandbox shows, if nobody has on this host. The first seal of the Session builds on
 * it, so it is made while the agent works, and not while somebody waits.
 */
export function sealBaseAhead(context: ExecutionContext, lease: LeaseRow, signal: AbortSignal): void {
  const { checkpointLimits, checkpoints, driver, log } = context
  const owner = driver.lowerOwner()
  const { tree } = lease
  if (owner === null || tree === null || !isCheckout(tree)) return
  const begin = async () => {
    if ((await checkpoints.bases.find(tree)) !== null) return
    await checkpoints.bases.provide(tree, owner, checkpointLimits.workspace, signal)
  }
  begin().catch(error => {
    if (!signal.aborted) log.info({ ...failureFields(error), leaseId: lease.id }, 'a checkout was not sealed ahead')
  })
}

/**
 * Gives a lease's workspace the baseline of the checkout that its sandbox shows.
 * @returns the manifest that the baseline belongs to; null: everything is read
 * @throws the signal's reason
 */
export async function buildOnCheckout(
  { checkpointLimits, checkpoints, driver, log }: ExecutionContext,
  { id, tree }: LeaseRow,
  signal: AbortSignal,
): Promise<string | null> {
  const owner = driver.lowerOwner()
  if (owner === null || tree === null || !isCheckout(tree)) return null
  try {
    const base = await checkpoints.bases.provide(tree, owner, checkpointLimits.workspace, signal)
    if (base === null) return null
    await owner.lend(id, base.baselines)
    return base.manifest.toString()
  } catch (error) {
    signal.throwIfAborted()
    log.warn({ ...failureFields(error), leaseId: id }, 'a first seal reads everything, without that of its checkout')
    return null
  }
}
