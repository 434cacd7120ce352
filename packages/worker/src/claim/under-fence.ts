import { holdSession } from '@berth/core/sessions/session/session-sql.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { type Claim, ClaimLost, type Task } from './claim.ts'
import type { ExecutionContext } from './execution-context.ts'
import { holdsFence } from './hold-sql.ts'

/**
 * Runs `work` under the Session's lock, after the fence is proven.
 *
 * @param first another Session whose lock `work` needs: whoever locks both of a verification locks that of its subject first
 * @throws ClaimLost
 */
export async function underFence<T>(
  context: Pick<ExecutionContext, 'db' | 'clock'>,
  claim: Claim,
  work: (tx: Queryable, task: Task) => Promise<T>,
  first: SessionKey | null = null,
): Promise<T> {
  return context.db.transaction(async tx => {
    if (first !== null) await holdSession(tx, first)
    const [, task] = await Promise.all([holdSession(tx, claim), holdsFence(tx, claim)])
    if (task === null) throw new ClaimLost()
    return work(tx, task)
  })
}

/**
 * Like `underFence`, for statements that depend neither on each other nor on the claim. They go out in one round trip
 * with the proof of the claim, and are rolled back if it does not stand.
 *
 * @throws ClaimLost
 */
export async function inOneFlight(
  context: ExecutionContext,
  claim: Claim,
  write: (tx: Queryable, now: Date) => readonly Promise<unknown>[],
): Promise<void> {
  await context.db.transaction(async tx => {
    const now = context.clock.now()
    const [, task] = await Promise.all([holdSession(tx, claim), holdsFence(tx, claim), ...write(tx, now)])
    if (task === null) throw new ClaimLost()
  })
}
