import { applyEvent } from '@berth/core/sessions/leases/apply-report.ts'
import { markBegun } from '@berth/core/sessions/leases/apply-sql.ts'
import type { LeaseRow } from '@berth/core/sessions/leases/lease-sql.ts'
import { appendEvents } from '@berth/core/sessions/log/append.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Claim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { underFence } from '../claim/under-fence.ts'

/**
 * Appends `started` for a lease whose sandbox is not made yet, so that what takes long before it can be told. Nobody goes
 * on with such a lease: if its worker dies, the end of the lease appends `failed`.
 * @param name of the environment in the revision
 * @returns the lease as it is now
 * @throws ClaimLost, DatabaseUnavailable
 */
export async function beginEarly(
  context: ExecutionContext,
  claim: Claim,
  leaseId: string,
  name: string,
): Promise<LeaseRow> {
  const begun = await underFence(context, claim, async tx => {
    const now = context.clock.now()
    const run = claim.runId === null ? {} : { runId: claim.runId }
    const lease = await markBegun(tx, leaseId, { startedAt: now.toISOString(), name, ...run })
    await appendEvents(tx, claim, [applyEvent(lease, 'started', now)], now)
    return lease
  })
  context.wakeups.publish(topics.session(claim.organizationId, claim.sessionId))
  return begun
}
