import type { Context } from '@berth/core/context.ts'
import type { Chore } from '@berth/core/housekeeping/chore.ts'
import { forgetPreviews } from '@berth/core/sessions/previews/preview-sql.ts'
import { forgetTerminals } from '@berth/core/sessions/terminals/terminal-sql.ts'
import { forgetFileRequests } from './files/file-request-sql.ts'
import { forgetBegun } from './git-connections/begun-sql.ts'
import { forgetEndedPreviews } from './ports/preview-sql.ts'
import { forgetPushes } from './push/delivery-sql.ts'
import { NEWS_MS } from './push/push-sender.ts'
import { SUBSCRIBED_MS } from './push/subscription.ts'
import { forgetSubscriptions } from './push/subscription-sql.ts'
import { forgetBrowserSessions } from './sign-in/browser-session-sql.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Returns the chores that delete sessions of browsers, terminals, previews and requests for files that have ended. */
export function consoleChores(
  { db, clock, log }: Pick<Context, 'db' | 'clock' | 'log'>,
  { idleMs }: { readonly idleMs: number },
): readonly Chore[] {
  return [
    {
      name: 'forget-browser-sessions',
      intervalMs: HOUR_MS,
      work: async signal => {
        const now = clock.now()
        const forgotten = await forgetBrowserSessions(db, now, new Date(now.getTime() - idleMs), signal)
        if (forgotten > 0) log.info({ forgotten }, "forgot browsers' sessions that had ended")
      },
    },
    {
      name: 'forget-terminals',
      intervalMs: HOUR_MS,
      work: signal => forgetTerminals(db, new Date(clock.now().getTime() - HOUR_MS), signal),
    },
    {
      name: 'forget-previews',
      intervalMs: HOUR_MS,
      work: signal => forgetPreviews(db, new Date(clock.now().getTime() - HOUR_MS), signal),
    },
    {
      name: 'forget-port-previews',
      intervalMs: HOUR_MS,
      work: async () => forgetEndedPreviews(db, clock.now()),
    },
    {
      name: 'forget-begun-git-connections',
      intervalMs: HOUR_MS,
      work: async () => forgetBegun(db, clock.now()),
    },
    {
      name: 'forget-pushes',
      intervalMs: HOUR_MS,
      work: async signal => {
        const now = clock.now().getTime()
        await forgetPushes(db, new Date(now - NEWS_MS - HOUR_MS))
        await forgetSubscriptions(db, new Date(now - SUBSCRIBED_MS), signal)
      },
    },
    {
      name: 'forget-file-requests',
      intervalMs: MINUTE_MS,
      work: async () => forgetFileRequests(db, new Date(clock.now().getTime() - MINUTE_MS)),
    },
  ]
}
