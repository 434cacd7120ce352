import type { Context } from '@berth/core/context.ts'
import type { Principal } from '@berth/core/identity/guard/principal.ts'
import { restoreWorkspace } from '@berth/core/sessions/restore-workspace.ts'
import { requestReview } from '@berth/core/sessions/reviews/request-review.ts'
import { findWholeReview, readLastReviewed } from '@berth/core/sessions/reviews/review-sql.ts'
import { isUnreviewed } from '@berth/core/sessions/runs/unreviewed-sql.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { isPublished } from './published-sql.ts'

/**
 * Returns the revision that an ended and sealed Run has left; null if there is nothing to publish: no change, or no other
 * than was published already. The end of a Run stores it. If that could not be done, it is asked for once more here.
 * @throws ApiError as `requestReview` and `restoreWorkspace`
 */
export async function settleRevision(
  context: Context,
  principal: Principal,
  key: SessionKey,
  run: { readonly id: string },
  signal: AbortSignal,
): Promise<string | null> {
  const { db } = context
  const { revision: newest } = await readLastReviewed(db, key)
  const row = newest === null ? null : await findWholeReview(db, key, newest)
  if ((newest !== null && row === null) || (await isUnreviewed(db, key, run.id))) {
    await restoreWorkspace(context, principal, key, signal)
    const { revision, files } = await requestReview(context, principal, key, signal)
    return files.length === 0 || (await isPublished(db, key, revision)) ? null : revision
  }
  return row === null || row.files === 0 || (await isPublished(db, key, row.revision)) ? null : row.revision
}
