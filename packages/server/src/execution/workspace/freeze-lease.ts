import type { SessionKey } from '../../kit/session-key.ts'
import { findLiveLease } from '../../sessions/leases/lease-sql.ts'
import { findRun } from '../../sessions/runs/run-sql.ts'
import type { RunClaim } from '../claim/claim.ts'
import { ClaimLost } from '../claim/claim-lost.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { holdsFence, isUnclaimed } from '../claim/hold-sql.ts'
import { stateOnceStopped } from '../claim/once-stopped.ts'

/**
 * Freezes the sandbox of an ended Run before its seal, so that nothing changes the tree meanwhile and nothing of the
 * Run runs on. After a cancellation it also ends the processes that the agent has detached. The freeze comes first,
 * because processes that fork all the time would stay ahead of the search for them.
 *
 * @throws ClaimLost
 */
export async function freezeToSeal(context: ExecutionContext, claim: RunClaim, signal: AbortSignal): Promise<void> {
  const { db, driver, clock, log } = context
  const [lease, run] = await Promise.all([findLiveLease(db, claim), findRun(db, claim, claim.runId)])
  if (lease?.state !== 'attached') return
  await db.transaction(async tx => {
    if ((await holdsFence(tx, claim, clock.now())) === null) throw new ClaimLost()
    await driver.freeze(lease.id)
  })
  const state = await stateOnceStopped(context, lease.id, signal)
  if (state === 'freezing') {
    log.warn({ leaseId: lease.id, runId: claim.runId }, 'a sandbox is sealed although some of its processes still run')
  }
  // A running sandbox belongs to a worker that took the claim meanwhile. A Run with a requested cancellation may have
  // ended as failed, because its authority was revoked.
  if (state !== 'running' && run !== null && run.cancel_requested_at !== null) await driver.endOrphans(lease.id)
}

/**
 * Freezes the Session's sandbox unless somebody holds the Session's execution.
 *
 * Only the kernel knows whether a sandbox is frozen; the rows say whether it should be. The row stays locked from the
 * check to the freeze, so no worker begins a Run in between. Nothing slower may happen under that lock: the claiming
 * worker's heartbeat waits for it.
 */
export async function freezeAtRest({ db, driver }: ExecutionContext, key: SessionKey): Promise<void> {
  const lease = await findLiveLease(db, key)
  if (lease?.state !== 'attached' || isAtRest(await driver.stateOf(lease.id))) return
  await db.transaction(async tx => {
    if (await isUnclaimed(tx, key)) await driver.freeze(lease.id)
  })
}

const isAtRest = (state: string): boolean => state === 'frozen' || state === 'gone'
