import type { Queryable } from '../../storage/postgres/database.ts'
import { announce, topics } from '../../storage/postgres/wakeups.ts'
import { makeWaitingDue } from './merge-sql.ts'

/**
 * Has workers look at once at the Merges that wait for a repository's pull requests, because something was said that may
 * have made one ready. Without it they look at their next turn.
 * @param provider kind of the host, as Sessions name it (interface 2.3)
 */
export async function wakeMerges(
  db: Queryable,
  at: { readonly provider: string; readonly repositoryId: string },
  now: Date,
): Promise<void> {
  if ((await makeWaitingDue(db, at, now)) > 0) await announce(db, topics.deliveries)
}
