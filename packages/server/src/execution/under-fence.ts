import { lockSession } from '../sessions/session-sql.ts'
import type { ExecutionContext } from './execution-context.ts'
import { type Claim, holdsFence, type Task } from './execution-sql.ts'
import { ClaimLost } from './interruption.ts'

/** Runs SQL under the Session's lock, after the fence is proven. @throws ClaimLost */
export async function underFence<T>(
  context: ExecutionContext,
  claim: Claim,
  work: (tx: Parameters<typeof lockSession>[0], task: Task) => Promise<T>,
): Promise<T> {
  return context.db.transaction(async tx => {
    const [, task] = await Promise.all([lockSession(tx, claim), holdsFence(tx, claim, context.clock.now())])
    if (task === null) throw new ClaimLost()
    return work(tx, task)
  })
}
