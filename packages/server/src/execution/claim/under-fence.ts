import { holdSession } from '../../sessions/session/session-sql.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import { ClaimLost } from './claim-lost.ts'
import { type Claim, holdsFence, type Task } from './claim-sql.ts'
import type { ExecutionContext } from './execution-context.ts'

/** Runs SQL under the Session's lock, after the fence is proven. @throws ClaimLost */
export async function underFence<T>(
  context: ExecutionContext,
  claim: Claim,
  work: (tx: Queryable, task: Task) => Promise<T>,
): Promise<T> {
  return context.db.transaction(async tx => {
    const [, task] = await Promise.all([holdSession(tx, claim), holdsFence(tx, claim, context.clock.now())])
    if (task === null) throw new ClaimLost()
    return work(tx, task)
  })
}

/**
 * As `underFence`, for statements that wait for nothing of each other nor of the claim: they go in one flight behind the
 * proof of it, and are taken back where it does not stand. @throws ClaimLost
 */
export async function inOneFlight(
  context: ExecutionContext,
  claim: Claim,
  write: (tx: Queryable, now: Date) => readonly Promise<unknown>[],
): Promise<void> {
  await context.db.transaction(async tx => {
    const now = context.clock.now()
    const [, task] = await Promise.all([holdSession(tx, claim), holdsFence(tx, claim, now), ...write(tx, now)])
    if (task === null) throw new ClaimLost()
  })
}
