import type { Context } from '../context.ts'
import type { Chore } from '../housekeeping/chore.ts'
import { deleteOldProbes } from './probe-sql.ts'
import { LONGEST_PROBE_MS } from './release-probes.ts'

const HOUR_MS = 60 * 60_000

/** Returns the chore that forgets expired probes and old uploads; the collector of blobs then takes their engines. */
export function releaseChores({ db, clock, log }: Pick<Context, 'db' | 'clock' | 'log'>): readonly Chore[] {
  return [
    {
      name: 'forget-runtime-releases',
      intervalMs: HOUR_MS,
      work: async () => {
        const now = clock.now()
        const forgotten = await deleteOldProbes(db, now, new Date(now.getTime() - LONGEST_PROBE_MS))
        if (forgotten > 0) log.info({ forgotten }, 'forgot expired probes of runtime releases')
      },
    },
  ]
}
