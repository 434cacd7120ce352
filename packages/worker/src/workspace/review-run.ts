import { NATIVE_RUNTIME } from '@berth/core/runtimes/catalog.ts'
import { omitted } from '@berth/core/sessions/artifacts/keep-artifact.ts'
import { findLiveLease } from '@berth/core/sessions/leases/lease-sql.ts'
import { appendEvents } from '@berth/core/sessions/log/append.ts'
import { cutText, storable } from '@berth/core/sessions/log/bounded-text.ts'
import type { EventDraft } from '@berth/core/sessions/log/envelope.ts'
import { makeReview } from '@berth/core/sessions/reviews/make-review.ts'
import { openPlace } from '@berth/core/sessions/reviews/open-place.ts'
import { ReviewRefused } from '@berth/core/sessions/reviews/review-place.ts'
import {
  findWholeReview,
  insertReview,
  type ReviewRow,
  readLastReviewed,
  setLastReviewed,
  setReviewFiles,
} from '@berth/core/sessions/reviews/review-sql.ts'
import { findRun } from '@berth/core/sessions/runs/run-sql.ts'
import { markChanged } from '@berth/core/sessions/session/session-sql.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { observed } from '@berth/platform/telemetry/observe.ts'
import { ClaimLost, type RunClaim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { announce } from '../claim/finish.ts'
import { underFence } from '../claim/under-fence.ts'

/** Longest time that a Session's next Run waits for a revision; a review on demand has longer. */
const WITHIN_MS = 30_000
/** Room for a path of some length and git's words about it. */
const REASON_BYTES = 1024

/** The tree is the one of the newest revision, or still the base. */
class NothingNew extends Error {
  override readonly name = 'NothingNew'
}

/**
 * Stores the changes of a Session as a revision once a Run has ended, while its sandbox is frozen, and tells of it in the
 * log if the tree differs from the one that was told before. It is recorded in one transaction behind the fence, so of
 * several workers that come to the same end of a Run one tells.
 *
 * A revision that cannot be made costs neither the Run nor its checkpoint: a review on demand can still be asked for.
 *
 * @returns the Events that say why there is none, for the transaction that ends the seal
 * @throws ClaimLost, DatabaseUnavailable, or the signal's reason: another worker then makes it
 */
export async function reviewRun(
  context: ExecutionContext,
  claim: RunClaim,
  signal: AbortSignal,
): Promise<readonly EventDraft[]> {
  const { db, log, sources } = context
  const late = AbortSignal.timeout(WITHIN_MS)
  try {
    const [lease, run] = await Promise.all([findLiveLease(db, claim), findRun(db, claim, claim.runId)])
    // The native agent changes nothing but by tools. Others need not tell of all that they do.
    const isIdle = (run?.runtime ?? NATIVE_RUNTIME) === NATIVE_RUNTIME && run?.tool_calls === 0
    if (lease?.state !== 'attached' || isIdle) return []
    const source = await sources.find(claim)
    if (source === null) return []
    if (source === 'revoked') throw new ReviewRefused('the Session may not use its repository any more')
    const within = AbortSignal.any([signal, late])
    await observed(claim, 'review', () => review(context, claim, { leaseId: lease.id, source, signal: within }))
    return []
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof NothingNew) return []
    if (error instanceof ClaimLost || error instanceof DatabaseUnavailable) throw error
    // The Session was archived meanwhile, or the sandbox is lost: its seal tells that.
    if ((await findLiveLease(db, claim)) === null) return []
    const refused = error instanceof ReviewRefused
    log[refused ? 'info' : 'warn']({ err: error, runId: claim.runId }, 'the changes of a run were not stored')
    const reason = late.aborted ? 'it took longer than the end of a Run may' : 'a review that is asked for may say more'
    return [omission(refused ? error.message : reason)]
  }
}

interface Reviewing {
  readonly leaseId: string
  readonly source: Exclude<Awaited<ReturnType<ExecutionContext['sources']['find']>>, 'revoked' | null>
  readonly signal: AbortSignal
}

async function review(
  context: ExecutionContext,
  claim: RunClaim,
  { leaseId, source, signal }: Reviewing,
): Promise<void> {
  const { db, blobs, clock, host, log, wakeups } = context
  await using place = await openPlace(context, { leaseId, host }, source, signal)
  let recorded = false
  try {
    const row = await makeReview(
      place,
      claim,
      { baseOid: source.baseOid, targetBranch: source.baseBranch },
      {
        ...{ blobs, now: clock.now(), signal },
        async known(revision, isChanged) {
          if (!isChanged && (await readLastReviewed(db, claim)).revision === null) throw new NothingNew()
          const row = await findWholeReview(db, claim, revision)
          // A worker that was killed may have left it without the lines of its files.
          return row !== null && (row.files_sha256 !== null || !isChanged) ? row : null
        },
        async made(made) {
          const isNew = await record(context, claim, made)
          if (!isNew && made.files_sha256 !== null) throw new NothingNew()
          recorded = true
        },
      },
    )
    if (row.files_sha256 === null) return
    await setReviewFiles(db, claim, row.revision, row.files_sha256)
    wakeups.publish(topics.review(claim.organizationId, claim.sessionId))
  } catch (error) {
    if (!recorded || error instanceof DatabaseUnavailable) throw error
    log.warn({ err: error, runId: claim.runId }, 'the files of a review were not stored')
  }
}

/**
 * Makes a revision the newest, and tells of it. Whether it was is read under the Session's lock, because somebody may have had
 * another tree reviewed meanwhile.
 * @returns false if it was the newest already, and told
 */
async function record(context: ExecutionContext, claim: RunClaim, row: ReviewRow): Promise<boolean> {
  const isNew = await underFence(context, claim, async tx => {
    const { revision, announced } = await readLastReviewed(tx, claim)
    if (row.revision === revision && row.revision === announced) return false
    await insertReview(tx, claim, row)
    await setLastReviewed(tx, claim, row.revision)
    if (row.files === 0 && announced === null) await markChanged(tx, claim)
    else await appendEvents(tx, claim, [created(row, claim.runId)], context.clock.now())
    return true
  })
  if (isNew) announce(context, claim)
  return isNew
}

/** Names the Run in its data alone, because nothing of a Run follows its terminal Event. */
function created(row: ReviewRow, runId: string): EventDraft {
  const { revision, base_oid: baseOid, head_tree: headTree, target_branch: targetBranch } = row
  const { files, additions, deletions } = row
  const data = { revision, runId, baseOid, headTree, targetBranch, files, additions, deletions }
  return { type: 'svc.revision.created', data }
}

function omission(reason: string): EventDraft {
  const { text } = cutText(storable(reason), REASON_BYTES)
  return omitted(null, { kind: 'revision', name: 'the changes', sizeBytes: 0, reason: text })
}
