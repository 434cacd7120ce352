import { wasSealed } from '@berth/core/checkpoints/checkpoint-sql.ts'
import { findLiveLease } from '@berth/core/sessions/leases/lease-sql.ts'
import { findRun } from '@berth/core/sessions/runs/run-sql.ts'
import { isKeptAwake } from '@berth/core/sessions/terminals/terminal-sql.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { SandboxState } from '@berth/sandboxes/driver.ts'
import { stateOnceStopped } from '../apply/while-frozen.ts'
import { ClaimLost, type RunClaim } from '../claim/claim.ts'
import { type ExecutionContext, egressOf } from '../claim/execution-context.ts'
import { holdsFence, isUnclaimed } from '../claim/hold-sql.ts'

/**
 * Freezes the sandbox of an ended Run before its seal, so that nothing changes the tree meanwhile and nothing of the
 * Run runs on. After a cancellation it also ends the processes that the agent has detached. The freeze comes first,
 * because processes that fork all the time would stay ahead of the search for them.
 *
 * @throws ClaimLost
 */
export async function freezeToSeal(context: ExecutionContext, claim: RunClaim, signal: AbortSignal): Promise<void> {
  const { db, driver, log } = context
  const [lease, run] = await Promise.all([findLiveLease(db, claim), findRun(db, claim, claim.runId)])
  if (lease?.state !== 'attached') return
  await db.transaction(async tx => {
    if ((await holdsFence(tx, claim)) === null) throw new ClaimLost()
    await driver.freeze(lease.id)
  })
  const state = await stateOnceStopped(context, lease.id, signal)
  if (state === 'freezing') {
    log.warn({ leaseId: lease.id, runId: claim.runId }, 'a sandbox is sealed although some of its processes still run')
  }
  // A running sandbox belongs to a worker that took the claim meanwhile. A Run with a requested cancellation may have
  // ended as failed, because its authority was revoked. What runs at a later seal, a person has started at a terminal.
  const isCancelled = run !== null && run.cancel_requested_at !== null
  if (state !== 'running' && isCancelled && !(await wasSealed(db, claim, run.id))) await driver.endOrphans(lease.id)
}

/**
 * Freezes the Session's sandbox unless somebody holds the Session's execution, or looks at a terminal.
 *
 * Only the kernel knows whether a sandbox is frozen; the rows say whether it should be. The row stays locked from the
 * check to the freeze, so no worker begins a Run in between. Nothing slower may happen under that lock: the claiming
 * worker's heartbeat waits for it.
 */
export async function freezeAtRest({ db, driver, clock, wakeups }: ExecutionContext, key: SessionKey): Promise<void> {
  const lease = await findLiveLease(db, key)
  if (lease?.state !== 'attached') return
  if (await isKeptAwake(db, lease.id, clock.now())) wakeups.publish(topics.terminals)
  if (isAtRest(await driver.stateOf(lease.id))) return
  await db.transaction(async tx => {
    if ((await isUnclaimed(tx, key)) && !(await isKeptAwake(tx, lease.id, clock.now()))) await driver.freeze(lease.id)
  })
}

/**
 * Lets the sandbox of a terminal run, with its way to the network, unless somebody holds the Session's execution: a Run
 * has it running, and a seal needs it at rest.
 */
export async function thawForTerminal(context: ExecutionContext, key: SessionKey): Promise<void> {
  const { db, driver, clock, runtimes } = context
  const lease = await findLiveLease(db, key)
  const runtime = lease === null ? null : runtimes.find(lease.runtime)
  if (lease?.state !== 'attached' || runtime === null || (await driver.stateOf(lease.id)) === 'running') return
  const egress = await egressOf(context, lease, runtime)
  await db.transaction(async tx => {
    if (!(await isUnclaimed(tx, key)) || !(await isKeptAwake(tx, lease.id, clock.now()))) return
    await driver.serveProxy(lease.id, egress)
    await driver.thaw(lease.id)
  })
}

/** Returns whether a sandbox has no process that runs. */
export const isAtRest = (state: SandboxState): boolean => ['frozen', 'parked', 'gone'].includes(state)
