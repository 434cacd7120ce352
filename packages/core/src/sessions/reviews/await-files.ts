import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { listen } from '@berth/platform/storage/postgres/listen.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Context } from '../../context.ts'
import { findReview, type ReviewRow } from './review-sql.ts'

/** Longest wait for the lines of a review; a review of that age has them, or never will. */
const STORED_WITHIN_MS = 15_000

/**
 * Returns a review with the lines of its files, as far as they will be there. A worker stores them after it has answered
 * with the review, so whoever asks for a file at once waits here; without this, the file would seem not to be kept.
 */
export async function awaitFiles(
  { db, wakeups, clock }: Pick<Context, 'db' | 'wakeups' | 'clock'>,
  key: SessionKey,
  found: ReviewRow,
  signal: AbortSignal,
): Promise<ReviewRow> {
  let row = found
  while (row.files_sha256 === null && !signal.aborted) {
    if (clock.now().getTime() - row.created_at.getTime() > STORED_WITHIN_MS) break
    using moved = listen(wakeups, topics.review(key.organizationId, key.sessionId))
    row = (await findReview(db, key, row.revision)) ?? row
    if (row.files_sha256 === null) await moved.once(signal)
  }
  return row
}
