import { createHash } from 'node:crypto'
import type { Context } from '@berth/core/context.ts'
import type { Handlers } from '@berth/core/http/routing/handler.ts'
import { readSession } from '@berth/core/sessions/session/read-session.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { personOf } from '../person-of.ts'
import { markViewed, readViewed, unmarkViewed } from './viewed-sql.ts'

/** So many marks of one person and Session are kept, the newest: more than anybody looks through by hand. */
const MOST_MARKS = 2_000

/** Serves the files of a Session's changes that a person has viewed, in whatever browser. */
export function viewedHandlers(context: Context): Pick<Handlers, 'listViewedFiles' | 'markFileViewed'> {
  const { db, clock, wakeups } = context
  return {
    listViewedFiles: async ({ principal, params: { sessionId } }) => {
      const person = personOf(principal)
      const key = { organizationId: person.organizationId, sessionId }
      await readSession(context, person, key)
      return { status: 200, body: await readViewed(db, key, person.id) }
    },

    markFileViewed: async ({ principal, params: { sessionId }, body: { path, digest, viewed } }) => {
      const person = personOf(principal)
      const key = { organizationId: person.organizationId, sessionId }
      await readSession(context, person, key)
      const pathDigest = createHash('sha256').update(path).digest()
      const marks = viewed
        ? await markViewed(db, key, person.id, { path, digest, pathDigest, at: clock.now(), most: MOST_MARKS })
        : await unmarkViewed(db, key, person.id, pathDigest)
      if (marks === null) throw refusal('cloud_session_not_found')
      wakeups.publish(topics.mark(person.organizationId, person.id, sessionId))
      return { status: 200, body: { marks } }
    },
  }
}
