import type { Queryable } from '../../storage/postgres/database.ts'
import { announce, topics } from '../../storage/postgres/wakeups.ts'
import { makeWaitingDue } from './merge-sql.ts'

/**
 * Makes workers check at once the Merges that wait for a repository's pull requests, because of news that may have made
 * one ready. Without it they wait for their next check.
 * @param provider kind of the host, as in `source.kind`
 */
export async function wakeMerges(
  db: Queryable,
  at: { readonly provider: string; readonly repositoryId: string },
  now: Date,
): Promise<void> {
  if ((await makeWaitingDue(db, at, now)) > 0) await announce(db, topics.deliveries)
}
