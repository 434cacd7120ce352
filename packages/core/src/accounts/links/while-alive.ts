import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Database, Queryable } from '@berth/platform/storage/postgres/database.ts'
import { consumeLink } from './one-time-link.ts'

class DeadLink extends Error {}

/**
 * Uses a link up and does `work` in one transaction; neither happens without the other.
 * @returns the result of `work`; null if the link no longer works
 */
export async function whileAlive<Result>(
  db: Database,
  secret: string,
  clock: Clock,
  work: (tx: Queryable, now: Date) => Promise<Result>,
): Promise<Result | null> {
  try {
    return await db.transaction(async tx => {
      const now = clock.now()
      if (!(await consumeLink(tx, secret, now))) throw new DeadLink()
      return work(tx, now)
    })
  } catch (error) {
    if (error instanceof DeadLink) return null
    throw error
  }
}
