import { randomUUID } from 'node:crypto'
import { endLeaseOfSession, findLiveLease, insertLease, type LeaseRow, markAttached } from '../leases/lease-sql.ts'
import type { RuntimeEntry } from '../runtimes/catalog.ts'
import { lockSession } from '../sessions/session-sql.ts'
import { DatabaseUnavailable } from '../storage/database-errors.ts'
import { topics } from '../storage/wakeups.ts'
import type { ExecutionContext } from './execution-context.ts'
import { type Claim, holdsFence } from './execution-sql.ts'
import { ClaimLost } from './interruption.ts'

/** The sandbox could not be made in time or at all. */
export class ProvisionFailed extends Error {
  override readonly name = 'ProvisionFailed'
}

/**
 * The Session's sandbox: the one its lease holds, else a fresh one. The lease's row is committed before anything is
 * made, so a crash in between leaves a row that says what to look for, and never a sandbox without one. What is left of
 * a sandbox whose lease has ended is the sweeper's: nothing that hangs there holds up a Run.
 * @throws ProvisionFailed, ClaimLost
 */
export async function provision(context: ExecutionContext, claim: Claim, runtime: RuntimeEntry): Promise<LeaseRow> {
  const { db, driver, clock } = context
  const live = await findLiveLease(db, claim)
  if (live?.state === 'attached') {
    await driver.serveProxy(live.id, runtime.reach)
    return live
  }
  const lease = await underFence(context, claim, async tx => {
    // A predecessor died while it made this one; how far it came is not known.
    if (live !== null) await endLeaseOfSession(tx, claim, 'abandoned', clock.now())
    return insertLease(tx, claim, {
      id: randomUUID(),
      driver: driver.kind,
      host: context.host,
      runtime: runtime.id,
      idleMs: context.limits.leaseIdleMs,
      maxMs: context.limits.leaseMaxMs,
      now: clock.now(),
    })
  })
  if (live !== null) context.wakeups.publish(topics.leases)
  try {
    await make(context, lease.id, runtime)
    await underFence(context, claim, tx => markAttached(tx, lease.id))
    return { ...lease, state: 'attached' }
  } catch (cause) {
    // Then the row still says how far this came, to whoever comes next.
    if (cause instanceof ClaimLost || cause instanceof DatabaseUnavailable) throw cause
    await underFence(context, claim, tx => endLeaseOfSession(tx, claim, 'abandoned', clock.now()))
    context.wakeups.publish(topics.leases)
    throw new ProvisionFailed('the sandbox could not be made', { cause })
  }
}

async function make(context: ExecutionContext, leaseId: string, { mounts, reach }: RuntimeEntry): Promise<void> {
  const { driver, supervisorCommand: command, bounds, limits } = context
  const deadline = AbortSignal.timeout(limits.provisionMs)
  const late = new Promise<never>((_, reject) => {
    deadline.addEventListener('abort', () => reject(new Error(`not done within ${limits.provisionMs} ms`)))
  })
  await Promise.race([driver.create({ leaseId, command, bounds, mounts, reach }), late])
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
