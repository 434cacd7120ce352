import type { Context } from '../../context.ts'
import type { Chore } from '../../housekeeping/chore.ts'
import type { RetentionSettings } from '../../settings/retention.ts'
import { purgeSessions } from './purge-sessions.ts'
import { findPurgeableTrials } from './purge-sql.ts'

const HOUR_MS = 60 * 60_000
/** A log can be deleted a day after its Session was archived (`purge_events`), by the clock of the database. */
const TRIAL_KEPT_MS = 25 * HOUR_MS

/** Returns the chores that purge Sessions of trials and, unless they are kept for ever, archived ones. */
export function purgeChores(
  { db, clock, log }: Pick<Context, 'db' | 'clock' | 'log'>,
  { archivedMs }: Pick<RetentionSettings, 'archivedMs'>,
): readonly Chore[] {
  const before = (ms: number) => new Date(clock.now().getTime() - ms)
  const trials: Chore = {
    name: 'purge-trials',
    intervalMs: HOUR_MS,
    work: async signal => {
      const purged = await purgeSessions({ db, clock }, before(TRIAL_KEPT_MS), signal, findPurgeableTrials)
      if (purged > 0) log.info({ purged }, 'purged trials of environments that ended a day ago')
    },
  }
  if (archivedMs === null) return [trials]
  return [
    trials,
    {
      name: 'purge-sessions',
      intervalMs: HOUR_MS,
      work: async signal => {
        const purged = await purgeSessions({ db, clock }, before(archivedMs), signal)
        if (purged > 0) log.info({ purged }, 'purged sessions that were archived long ago')
      },
    },
  ]
}
