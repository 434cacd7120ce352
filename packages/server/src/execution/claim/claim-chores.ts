import type { Context } from '../../context.ts'
import type { Chore } from '../../housekeeping/chore.ts'
import { forgetProcesses } from '../../processes/process-sql.ts'
import { findMisaligned, rightQueue } from '../../queue/queue-sql.ts'
import { topics } from '../../storage/postgres/wakeups.ts'
import { lapseOrphans } from './hold-sql.ts'

/** Sessions that one round aligns at most. */
const MOST = 1_000

/**
 * Returns the chore that deletes rows of dead processes and offers claims that no process stands for, and the one that
 * puts the queue right, which should find nothing to do.
 */
export function claimChores({ db, log, wakeups }: Pick<Context, 'db' | 'log' | 'wakeups'>): readonly Chore[] {
  return [
    {
      name: 'forget-processes',
      intervalMs: 60_000,
      work: async () => {
        await forgetProcesses(db)
        const offered = await lapseOrphans(db)
        if (offered > 0) log.warn({ offered }, 'offered claims of processes that the database does not know')
      },
    },
    {
      name: 'align-queue',
      intervalMs: 60_000,
      work: async signal => {
        let sessions = 0
        for (let found = MOST; found === MOST && !signal.aborted; sessions += found) {
          const keys = await findMisaligned(db, MOST)
          await rightQueue(db, 'fenced', keys)
          await rightQueue(db, 'timed', keys)
          found = keys.length
        }
        if (sessions === 0) return
        log.warn({ sessions }, 'the queue said something else than the work of Sessions; it is right again')
        wakeups.publish(topics.queue)
      },
    },
  ]
}
