import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import type { WorkQueue } from '../../delivery/work-queue.ts'
import { GitHostError } from '../../git-hosts/git-host.ts'
import { hostRefusalCode } from '../../repositories/host-refusal.ts'
import { SandboxGoneError } from '../../sandboxes/driver.ts'
import { topics } from '../../storage/postgres/wakeups.ts'
import { cutText, storable } from '../log/bounded-text.ts'
import { makeReview } from './make-review.ts'
import { openPlace } from './open-place.ts'
import { ReviewRefused } from './review-place.ts'
import {
  answerReview,
  claimedReviews,
  claimReviews,
  findReview,
  insertReview,
  type ReviewClaim,
  type ReviewFailure,
} from './review-sql.ts'

/** Room for a path of any length and git's words about it. */
const MESSAGE_BYTES = 8192

/** Offers review requests to the workers beside their sandboxes. */
export function reviewQueue(context: DeliveryContext): WorkQueue {
  return {
    name: 'reviews',
    concurrency: 4,
    claim: async (by, limit) =>
      (await claimReviews(context.db, { ...by, host: context.host }, limit)).map(claim => ({
        renew: until => claimedReviews.renew(context.db, claim.claim, until),
        work: signal => answer(context, claim, signal),
      })),
  }
}

async function answer(context: DeliveryContext, claim: ReviewClaim, signal: AbortSignal): Promise<void> {
  const { db } = context
  const made = await review(context, claim, signal)
  await db.transaction(async tx => {
    if ('row' in made) await insertReview(tx, claim, made.row)
    await answerReview(tx, claim, 'row' in made ? { revision: made.row.revision } : made)
  })
  context.wakeups.publish(topics.review(claim.organizationId, claim.sessionId))
}

async function review(
  context: DeliveryContext,
  claim: ReviewClaim,
  signal: AbortSignal,
): Promise<Awaited<ReturnType<typeof makeReview>> | ReviewFailure> {
  const { db, blobs, clock, log } = context
  try {
    const source = await context.sources.find(claim)
    if (source === null || source === 'revoked') return { failure: 'cloud_repository_grant_required' }
    await using place = await openPlace(context, claim.leaseId, source, signal)
    const base = { baseOid: source.baseOid, targetBranch: source.baseBranch }
    return await makeReview(place, claim, base, {
      blobs,
      known: revision => findReview(db, claim, revision),
      now: clock.now(),
      signal,
    })
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ReviewRefused) {
      log.info({ err: error, sessionId: claim.sessionId }, 'a review was refused')
      const { text } = cutText(storable(error.message), MESSAGE_BYTES)
      return { failure: 'cloud_review_refused', message: text }
    }
    if (error instanceof GitHostError) {
      log.warn({ err: error, sessionId: claim.sessionId }, 'a Git host did not give the source of a review')
      return { failure: hostRefusalCode(error) }
    }
    if (error instanceof SandboxGoneError) log.info({ sessionId: claim.sessionId }, 'the sandbox to review is gone')
    else log.error({ err: error, sessionId: claim.sessionId }, 'a review failed')
    return { failure: 'cloud_workspace_unavailable' }
  }
}
