import type { Context } from '@berth/core/context.ts'
import type { Chore } from '@berth/core/housekeeping/chore.ts'
import { forgetDeliveries } from './delivery-sql.ts'

const HOUR_MS = 60 * 60_000
const KEPT_MS = 30 * 24 * HOUR_MS

/**
 * Returns the chore that forgets deliveries 30 days after they were taken. One that is repeated later still makes no second
 * Session, since the Session's id follows from its key.
 */
export function triggerChores({ db, clock, log }: Pick<Context, 'db' | 'clock' | 'log'>): readonly Chore[] {
  return [
    {
      name: 'forget-trigger-deliveries',
      intervalMs: HOUR_MS,
      work: async signal => {
        const forgotten = await forgetDeliveries(db, new Date(clock.now().getTime() - KEPT_MS), signal)
        if (forgotten > 0) log.info({ forgotten }, 'forgot old deliveries of triggers')
      },
    },
  ]
}
