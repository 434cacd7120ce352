import { emptyTreeOid } from '@berth/contract'
import { findResumable } from '@berth/core/checkpoints/checkpoint-sql.ts'
import { checkOut, digestOfNames } from '@berth/core/git/check-out.ts'
import type { Checkout } from '@berth/core/repositories/checkouts.ts'
import { objectsOf } from '@berth/core/repositories/mirrors.ts'
import { markTree } from '@berth/core/sessions/leases/lease-image-sql.ts'
import type { LeaseRow } from '@berth/core/sessions/leases/lease-sql.ts'
import { hasEarlierWork } from '@berth/core/sessions/runs/run-sql.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { type Claim, ClaimLost } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { underFence } from '../claim/under-fence.ts'
import type { ReadySource } from './session-source.ts'

/**
 * Returns the checkout that a lease's sandbox shows below its own files, made now if this host lacks it. That takes no
 * longer than a checkout into the sandbox. A Session with earlier work has a workspace of its own.
 *
 * @returns null if the repository has to be checked out into the sandbox
 * @throws ClaimLost, DatabaseUnavailable, or the signal's reason
 */
export async function findCheckout(
  context: ExecutionContext,
  claim: Claim,
  lease: LeaseRow,
  { commit, mirror, names }: ReadySource,
  signal: AbortSignal,
): Promise<Checkout | null> {
  const { checkouts, db, driver, log } = context
  const owner = driver.lowerOwner()
  if (owner === null || commit.oid === emptyTreeOid) return null
  if ((await findResumable(db, claim)) !== null || (await hasEarlierWork(db, claim, claim.runId))) return null
  // The Git host answers while the sandbox is made.
  names().catch(() => undefined)
  // Before the sandbox exists, so that nobody removes the tree meanwhile.
  const hold = (name: string | null) => underFence(context, claim, tx => markTree(tx, lease.id, name))
  try {
    return await checkouts.provide({ commit, mirror, names, hold }, owner, signal)
  } catch (error) {
    if (signal.aborted || error instanceof ClaimLost || error instanceof DatabaseUnavailable) throw error
    log.warn({ err: error, leaseId: lease.id }, 'a repository is checked out into a sandbox, without a kept tree')
    await hold(null)
    return null
  }
}

/** Writes a Session's branch, refs and origin into its sandbox if the checkout was made with others. @throws CheckOutFailed */
export async function nameCheckout(
  { driver }: ExecutionContext,
  { mirror, names }: ReadySource,
  checkout: Checkout,
  leaseId: string,
  signal: AbortSignal,
): Promise<void> {
  const own = await names()
  if (digestOfNames(own) === checkout.namesDigest) return
  const run = driver.run.bind(driver, leaseId)
  await checkOut({ run, objects: objectsOf(mirror), names: own, files: 'own', isKept: true }, signal)
}
