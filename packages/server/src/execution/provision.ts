import { randomUUID } from 'node:crypto'
import { endLeaseOfSession, findLiveLease, insertLease, type LeaseRow, markAttached } from '../leases/lease-sql.ts'
import type { RuntimeEntry } from '../runtimes/catalog.ts'
import { lockSession } from '../sessions/session-sql.ts'
import type { ExecutionContext } from './execution-context.ts'
import { type Claim, holdsFence } from './execution-sql.ts'
import { ClaimLost } from './interruption.ts'

/** The sandbox could not be made in time or at all. */
export class ProvisionFailed extends Error {
  override readonly name = 'ProvisionFailed'
}

/**
 * The Session's sandbox: the one its lease holds, else a fresh one. The lease's row is committed before anything is
 * made, so a crash in between leaves a row that says what to look for, and never a sandbox without one.
 * @throws ProvisionFailed, ClaimLost
 */
export async function provision(
  context: ExecutionContext,
  claim: Claim,
  runtime: RuntimeEntry,
): Promise<{ lease: LeaseRow; fresh: boolean }> {
  const { db, driver, clock, limits } = context
  const live = await findLiveLease(db, claim)
  if (live?.state === 'attached') {
    await driver.serveProxy(live.id, runtime.reach)
    return { lease: live, fresh: false }
  }
  if (live !== null) {
    // A predecessor died while it made this one; how far it came is not known.
    await driver.destroy(live.id)
    await underFence(context, claim, tx => endLeaseOfSession(tx, claim, 'abandoned', clock.now()))
  }
  const lease = await underFence(context, claim, tx =>
    insertLease(tx, claim, {
      id: randomUUID(),
      driver: driver.kind,
      host: context.host,
      runtime: runtime.id,
      idleMs: limits.leaseIdleMs,
      maxMs: limits.leaseMaxMs,
      now: clock.now(),
    }),
  )
  try {
    const { supervisorCommand: command, bounds } = context
    const making = driver.create({
      leaseId: lease.id,
      command,
      bounds,
      mounts: runtime.mounts,
      reach: runtime.reach,
    })
    await withDeadline(making, limits.provisionMs)
    await underFence(context, claim, tx => markAttached(tx, lease.id))
    return { lease: { ...lease, state: 'attached' }, fresh: true }
  } catch (cause) {
    await driver.destroy(lease.id)
    if (cause instanceof ClaimLost) throw cause
    await underFence(context, claim, tx => endLeaseOfSession(tx, claim, 'abandoned', clock.now()))
    throw new ProvisionFailed('the sandbox could not be made', { cause })
  }
}

/** Runs SQL under the Session's lock, after the fence is proven. @throws ClaimLost */
export async function underFence<T>(
  context: ExecutionContext,
  claim: Claim,
  work: (tx: Parameters<typeof lockSession>[0]) => Promise<T>,
): Promise<T> {
  return context.db.transaction(async tx => {
    await lockSession(tx, claim)
    if (!(await holdsFence(tx, claim, context.clock.now()))) throw new ClaimLost()
    return work(tx)
  })
}

async function withDeadline<T>(work: Promise<T>, deadlineMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${deadlineMs} ms`)), deadlineMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
