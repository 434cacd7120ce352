import type { Review } from '@berth/contract'
import { refusal, workspaceLapsed } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { listen } from '@berth/platform/storage/postgres/listen.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { readSession } from '../session/read-session.ts'
import { readReview } from './read-review.ts'
import { askForReview, findReview, readAnswer } from './review-sql.ts'

/**
 * Makes a review of the Session's changes. A worker beside the sandbox makes it; callers who ask at once share one that
 * began after the last of them asked.
 * @throws ApiError 404
 * @throws ApiError 403 if the repository may no longer be used
 * @throws ApiError 409 `cloud_repository_required`, `cloud_workspace_expired` or `cloud_review_refused`
 * @throws ApiError 503 `cloud_workspace_unavailable` if no worker has answered in time
 */
export async function requestReview(
  context: Context,
  principal: Principal,
  key: SessionKey,
  signal: AbortSignal,
): Promise<Review> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(context.reviewWaitMs)])
  await requireAttached(context, principal, key)
  const ticket = await askForReview(context.db, key)
  context.wakeups.publish(topics.deliveries)
  for (;;) {
    using moved = listen(context.wakeups, topics.review(key.organizationId, key.sessionId))
    const answer = await readAnswer(context.db, key)
    if (answer !== null && answer.answered >= ticket) {
      if (answer.failure !== null || answer.revision === null) {
        const { failure, message } = answer
        throw refusal(failure ?? 'cloud_workspace_unavailable', message === null ? {} : { message })
      }
      const row = await findReview(context.db, key, answer.revision)
      if (row === null) throw new Error(`no review ${answer.revision}`)
      return await readReview(context, key, row)
    }
    await requireAttached(context, principal, key)
    if (deadline.aborted) throw refusal('cloud_workspace_unavailable')
    await moved.once(deadline)
  }
}

/** Requires a workspace, and a source to compare it with. */
async function requireAttached(context: Context, principal: Principal, key: SessionKey): Promise<void> {
  const session = await readSession(context, principal, key)
  // Checked first: an archived Session keeps no workspace, whatever its source.
  if (session.archived_at !== null) throw refusal('cloud_workspace_expired')
  if (session.source === null) throw refusal('cloud_repository_required')
  if (!session.lease_held) throw workspaceLapsed(session.id)
}
