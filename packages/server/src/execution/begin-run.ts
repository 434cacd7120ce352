import { allSettled } from '../all-settled.ts'
import { appendEvents } from '../events/append.ts'
import { extendLease } from '../leases/extend-lease.ts'
import { markRunning } from '../runs/run-sql.ts'
import { topics } from '../storage/wakeups.ts'
import type { ExecutionContext } from './execution-context.ts'
import type { RunClaim } from './execution-sql.ts'
import { discardPresented } from './present-files.ts'
import { inOneFlight } from './under-fence.ts'

/**
 * The Run begins on its sandbox, ahead of its prompt: `running`, and one `started` event for each attempt.
 * @throws ClaimLost
 */
export async function beginRun(context: ExecutionContext, claim: RunClaim, leaseId: string): Promise<void> {
  const { id, attempts } = claim.run
  const data = { status: 'running', attempt: attempts }
  // Neither goes on behind the back of whoever tries again: what is discarded late may be the agent's by then.
  await allSettled([
    discardPresented(context, claim, leaseId),
    inOneFlight(context, claim, (tx, now) => [
      markRunning(tx, claim, id, now),
      extendLease(tx, claim, now),
      appendEvents(tx, claim, [{ type: 'svc.run.started', runId: id, data }], now),
    ]),
  ])
  context.wakeups.publish(topics.session(claim.organizationId, claim.sessionId))
}
