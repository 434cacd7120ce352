import type { Context } from '@berth/core/context.ts'
import type { Chore } from '@berth/core/housekeeping/chore.ts'
import { forgetProcesses } from '@berth/platform/processes/process-sql.ts'
import { lapseOrphans } from './hold-sql.ts'

/** Returns the chore that deletes rows of dead processes, and offers claims that no process stands for. */
export function claimChores({ db, log }: Pick<Context, 'db' | 'log'>): readonly Chore[] {
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
  ]
}
