import type { RetentionSettings } from '@berth/platform/settings/retention.ts'
import type { Context } from '../../context.ts'
import type { Chore } from '../../housekeeping/chore.ts'
import { dropSupersededPacks } from './drop-packs.ts'
import { purgeSessions } from './purge-sessions.ts'
import { findPurgeableTrials } from './purge-sql.ts'
import { sealLogs } from './seal-logs.ts'

const HOUR_MS = 60 * 60_000
/** A log can be deleted a day after its Session was archived (`purge_events`), by the clock of the database. */
const TRIAL_KEPT_MS = 25 * HOUR_MS
/** Of a revision that a later one supersedes: its workspace has another tree, so that it is not delivered any more. */
const PACK_KEPT_MS = 7 * 24 * HOUR_MS

/**
 * Returns the chores that purge Sessions of trials and archived ones, and that seal the logs of those that stay, as far as the
 * settings ask for it.
 */
export function purgeChores(
  { db, blobs, clock, log }: Pick<Context, 'db' | 'blobs' | 'clock' | 'log'>,
  { archivedMs, logMs }: Pick<RetentionSettings, 'archivedMs' | 'logMs'>,
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
  const packs: Chore = {
    name: 'drop-review-packs',
    intervalMs: 24 * HOUR_MS,
    work: async signal => {
      const dropped = await dropSupersededPacks({ db, clock }, before(PACK_KEPT_MS), signal)
      if (dropped > 0) log.info({ dropped }, 'gave up the objects of revisions that later ones supersede')
    },
  }
  const chores: Chore[] = [trials, packs]
  if (archivedMs !== null) {
    chores.push({
      name: 'purge-sessions',
      intervalMs: HOUR_MS,
      work: async signal => {
        const purged = await purgeSessions({ db, clock }, before(archivedMs), signal)
        if (purged > 0) log.info({ purged }, 'purged sessions that were archived long ago')
      },
    })
  }
  // After the purge: what goes anyway is not moved first.
  if (logMs !== null) {
    chores.push({
      name: 'seal-logs',
      intervalMs: HOUR_MS,
      work: async signal => {
        const events = await sealLogs({ db, blobs, log }, before(logMs), signal)
        if (events > 0) log.info({ events }, 'moved events of archived sessions into the blob store')
      },
    })
  }
  return chores
}
