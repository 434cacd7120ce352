import type { Context } from '../context.ts'
import type { Chore } from '../housekeeping/chore.ts'
import { letArchivesGo } from './archives/retention.ts'
import { destroyEndedSecrets } from './secret-sql.ts'

const MINUTE_MS = 60_000
/** A sandbox that was just promised the value still gets it; together with the interval this stays under an hour. */
const KEPT_MS = 50 * MINUTE_MS

/** Returns the chores of environments. */
export function environmentChores({ db, clock, log }: Pick<Context, 'db' | 'clock' | 'log'>): readonly Chore[] {
  return [
    {
      name: 'destroy-ended-secrets',
      intervalMs: 5 * MINUTE_MS,
      work: async () => {
        const destroyed = await destroyEndedSecrets(db, new Date(clock.now().getTime() - KEPT_MS))
        if (destroyed > 0) log.info({ destroyed }, 'destroyed values of secrets that were replaced or deleted')
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
