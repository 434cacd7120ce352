import type { Context } from '../context.ts'
import type { Chore } from '../housekeeping/chore.ts'
import { forgetDeliveries } from './delivery-sql.ts'

const HOUR_MS = 60 * 60_000
const DAY_MS = 24 * HOUR_MS

/** Returns the chore that forgets deliveries: 7 days after a success, 30 after a failure. */
export function webhookChores({ db, clock, log }: Pick<Context, 'db' | 'clock' | 'log'>): readonly Chore[] {
  return [
    {
      name: 'forget-webhook-deliveries',
      intervalMs: HOUR_MS,
      work: async signal => {
        const now = clock.now().getTime()
        const before = { succeeded: new Date(now - 7 * DAY_MS), other: new Date(now - 30 * DAY_MS) }
        const forgotten = await forgetDeliveries(db, before, signal)
        if (forgotten > 0) log.info({ forgotten }, 'forgot old deliveries of webhooks')
      },
    },
  ]
}
