import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { SandboxGoneError } from '@berth/sandboxes/driver.ts'
import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import type { WorkQueue } from '../../delivery/work-queue.ts'
import { GitHostError } from '../../git-hosts/git-host.ts'
import { hostRefusalCode } from '../../repositories/host-refusal.ts'
import { cutText, storable } from '../log/bounded-text.ts'
import { markChanged } from '../session/session-sql.ts'
import { makeReview } from './make-review.ts'
import { openPlace } from './open-place.ts'
import { ReviewRefused } from './review-place.ts'
import {
  answerReview,
  claimedReviews,
  claimReviews,
  findWholeReview,
  insertReview,
  type ReviewClaim,
  type ReviewFailure,
  type ReviewRow,
  setReviewFiles,
} from './review-sql.ts'

/** Room for a path of any length and git's words about it. */
const MESSAGE_BYTES = 8192

/** Offers review requests to the workers beside their sandboxes. */
export function reviewQueue(context: DeliveryContext): WorkQueue {
  return {
    name: 'reviews',
    concurrency: 4,
    claim: async (by, limit) =>
      (await claimReviews(context.db, { ...by, hosts: context.hosts.ids() }, limit)).map(claim => {
        const progress = { answered: false }
        return {
          // An answer gives the claim up. What is stored after that is nobody else's work.
          renew: async until => progress.answered || (await claimedReviews.renew(context.db, claim.claim, until)),
          work: signal => answer(context, claim, progress, signal),
        }
      }),
  }
}

async function answer(
  context: DeliveryContext,
  claim: ReviewClaim,
  progress: { answered: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { db, log } = context
  let reported = false
  const record = async (made: ReviewRow | ReviewFailure) => {
    // Before the claim is given up, so that no renewal in between takes it for lost.
    progress.answered = true
    await db.transaction(async tx => {
      if ('revision' in made) {
        await markChanged(tx, claim)
        await insertReview(tx, claim, made)
      }
      await answerReview(tx, claim, made)
    })
    reported = true
    const { organizationId, sessionId } = claim
    context.wakeups.publish(topics.review(organizationId, sessionId), topics.session(organizationId, sessionId))
  }
  try {
    const made = await review(context, claim, signal, record)
    if ('failure' in made) await record(made)
    else if (made.files_sha256 !== null) {
      await setReviewFiles(db, claim, made.revision, made.files_sha256)
      context.wakeups.publish(topics.review(claim.organizationId, claim.sessionId))
    }
  } catch (error) {
    if (!reported) throw error
    // The review itself is there; its readers see no more lines than its patch has.
    log.warn({ err: error, sessionId: claim.sessionId }, 'the files of a review were not stored')
  }
}

async function review(
  context: DeliveryContext,
  claim: ReviewClaim,
  signal: AbortSignal,
  record: (row: ReviewRow) => Promise<void>,
): Promise<ReviewRow | ReviewFailure> {
  const { db, blobs, clock, log } = context
  let made = false
  try {
    const source = await context.sources.find(claim)
    if (source === null || source === 'revoked') return { failure: 'cloud_repository_grant_required' }
    await using place = await openPlace(context, claim.place, source, signal)
    const base = { baseOid: source.baseOid, targetBranch: source.baseBranch }
    return await makeReview(place, claim, base, {
      blobs,
      known: revision => findWholeReview(db, claim, revision),
      made: async row => {
        made = true
        await record(row)
      },
      now: clock.now(),
      signal,
    })
  } catch (error) {
    signal.throwIfAborted()
    if (made) throw error
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
