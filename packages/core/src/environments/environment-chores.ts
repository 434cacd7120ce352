import type { Context } from '../context.ts'
import type { Chore } from '../housekeeping/chore.ts'
import { letArchivesGo } from './archives/retention.ts'
import { CACHE_KEPT_MS } from './cache/cache-key.ts'
import { forgetCaches } from './cache/cache-sql.ts'
import { retireImages } from './images/image-sql.ts'
import { destroyEndedSecrets } from './secret-sql.ts'

const MINUTE_MS = 60_000
/** An image that no sandbox has started from for this long is built again when one would. */
const IMAGE_UNUSED_MS = 7 * 24 * 60 * MINUTE_MS
/**
 * A lease keeps sealed copies of its own of the values that it was given, for its whole life. The transaction that makes
 * them reads the pins before the values, and is far shorter than this.
 */
const KEPT_MS = MINUTE_MS

/** Returns the chores of environments. */
export function environmentChores({ db, clock, log }: Pick<Context, 'db' | 'clock' | 'log'>): readonly Chore[] {
  return [
    {
      name: 'destroy-ended-secrets',
      intervalMs: MINUTE_MS,
      work: async () => {
        const destroyed = await destroyEndedSecrets(db, new Date(clock.now().getTime() - KEPT_MS))
        if (destroyed > 0) log.info({ destroyed }, 'destroyed values of secrets that were replaced or deleted')
      },
    },
    {
      name: 'forget-caches',
      intervalMs: 60 * MINUTE_MS,
      work: async () => {
        const forgotten = await forgetCaches(db, new Date(clock.now().getTime() - CACHE_KEPT_MS))
        if (forgotten > 0) log.info({ forgotten }, 'forgot caches that were not used for seven days')
      },
    },
    {
      name: 'retire-images',
      intervalMs: 15 * MINUTE_MS,
      work: async () => {
        const retired = await retireImages(db, new Date(clock.now().getTime() - IMAGE_UNUSED_MS))
        if (retired > 0) log.info({ retired }, 'retired images that no later sandbox starts from')
      },
    },
    {
      name: 'let-archives-go',
      intervalMs: 60 * MINUTE_MS,
      work: async signal => {
        const removed = await letArchivesGo({ db, clock }, signal)
        if (removed > 0) log.info({ removed }, 'removed archives that no revision holds')
      },
    },
  ]
}
