import { type LeaseRow, touchLease } from '@berth/core/sessions/leases/lease-sql.ts'
import { appendEvents } from '@berth/core/sessions/log/append.ts'
import { markRunning } from '@berth/core/sessions/runs/run-sql.ts'
import { allSettled } from '@berth/platform/kit/all-settled.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { RunClaim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { inOneFlight } from '../claim/under-fence.ts'
import { discardPresented } from '../workspace/present-files.ts'

/**
 * Starts the Run on its sandbox before its prompt: sets `running` and appends one `started` event for each attempt.
 *
 * @throws ClaimLost
 */
export async function beginRun(
  context: ExecutionContext,
  claim: RunClaim,
  { id: leaseId, release_sha: releaseSha }: LeaseRow,
): Promise<void> {
  const { id, attempts } = claim.run
  const data = { status: 'running', attempt: attempts, ...(releaseSha !== null && { releaseSha }) }
  // Waits for both even if one fails: a late discard after a retry could delete the agent's new files.
  await allSettled([
    discardPresented(context, claim, leaseId),
    inOneFlight(context, claim, (tx, now) => [
      markRunning(tx, claim, id, now),
      touchLease(tx, claim, now),
      appendEvents(tx, claim, [{ type: 'svc.run.started', runId: id, data }], now),
    ]),
  ])
  context.wakeups.publish(topics.session(claim.organizationId, claim.sessionId))
}
