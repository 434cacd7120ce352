import type { RetentionSettings } from '@berth/platform/settings/retention.ts'
import { rollUpUsage } from '../accounting/roll-up.ts'
import type { Context } from '../context.ts'
import type { Chore } from './chore.ts'

const HOUR_MS = 60 * 60_000

/** Returns the chore that sums up old requests; none if each is kept for ever. */
export function usageChores(
  { db, clock, log }: Pick<Context, 'db' | 'clock' | 'log'>,
  { requestsMs }: Pick<RetentionSettings, 'requestsMs'>,
): readonly Chore[] {
  if (requestsMs === null) return []
  return [
    {
      name: 'roll-up-usage',
      intervalMs: HOUR_MS,
      work: async signal => {
        const summed = await rollUpUsage(db, new Date(clock.now().getTime() - requestsMs), signal)
        if (summed > 0) log.info({ summed }, 'summed up requests to models by day')
      },
    },
  ]
}
