import type { Context } from '../context.ts'
import type { Chore } from '../housekeeping/chore.ts'
import { forgetPreviews } from '../sessions/previews/preview-sql.ts'
import { forgetBrowserSessions } from './sign-in/browser-session-sql.ts'

const HOUR_MS = 60 * 60_000
const AT_ONCE = 10_000

/** Returns the chores that delete sessions of browsers and previews that have ended. */
export function consoleChores(
  { db, clock, log }: Pick<Context, 'db' | 'clock' | 'log'>,
  { idleMs }: { readonly idleMs: number },
): readonly Chore[] {
  return [
    {
      name: 'forget-browser-sessions',
      intervalMs: HOUR_MS,
      work: async signal => {
        let forgotten = 0
        for (let deleted = AT_ONCE; deleted === AT_ONCE; forgotten += deleted) {
          signal.throwIfAborted()
          const now = clock.now()
          deleted = await forgetBrowserSessions(db, now, new Date(now.getTime() - idleMs), AT_ONCE)
        }
        if (forgotten > 0) log.info({ forgotten }, "forgot browsers' sessions that had ended")
      },
    },
    {
      name: 'forget-previews',
      intervalMs: HOUR_MS,
      work: async signal => {
        let forgotten = AT_ONCE
        while (forgotten >= AT_ONCE) {
          signal.throwIfAborted()
          forgotten = await forgetPreviews(db, new Date(clock.now().getTime() - HOUR_MS), AT_ONCE)
        }
      },
    },
  ]
}
