import { setTimeout as sleep } from 'node:timers/promises'
import type { SessionKey } from '../../kit/session-key.ts'
import { findLiveLease } from '../../sessions/leases/lease-sql.ts'
import { findRun } from '../../sessions/runs/run-sql.ts'
import { ClaimLost } from '../claim/claim-lost.ts'
import { holdsFence, isUnclaimed, type RunClaim } from '../claim/claim-sql.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'

/** A seal waits this long for the last process to stop: one that is inside a system call stops when it leaves the call. */
const STOPPING_MS = 1000
const LOOK_MS = 2

/**
 * Freezes the sandbox of a Run that has ended, ahead of its seal: nothing changes the tree beneath the seal, and nothing
 * of the Run works on or reaches anything. What a cancelled Run has detached from its agent ends, behind the freeze:
 * processes that fork all the time stay ahead of whoever looks for them while they run.
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
  // One that runs goes on for somebody who took the claim meanwhile. The authority of a cancelled Run may have been
  // revoked, and the Run have failed by that.
  if (state !== 'running' && run !== null && run.cancel_requested_at !== null) await driver.endOrphans(lease.id)
}

async function stateOnceStopped({ driver }: ExecutionContext, leaseId: string, signal: AbortSignal) {
  for (const deadline = performance.now() + STOPPING_MS; ; ) {
    const state = await driver.stateOf(leaseId)
    if (state !== 'freezing' || performance.now() >= deadline) return state
    await sleep(LOOK_MS, undefined, { signal })
  }
}

/**
 * Freezes the Session's sandbox unless somebody holds the Session's execution: a lease without a Run at work is frozen.
 *
 * The kernel alone knows whether a sandbox is frozen; rows say whether it is to be. So that no worker begins a Run between
 * the look at the row and the freeze, the row stays locked for both, and for nothing that takes longer: the heartbeat of
 * whoever claims it waits for the lock.
 */
export async function freezeAtRest({ db, driver }: ExecutionContext, key: SessionKey): Promise<void> {
  const lease = await findLiveLease(db, key)
  if (lease?.state !== 'attached' || isAtRest(await driver.stateOf(lease.id))) return
  await db.transaction(async tx => {
    if (await isUnclaimed(tx, key)) await driver.freeze(lease.id)
  })
}

const isAtRest = (state: string): boolean => state === 'frozen' || state === 'gone'
