import type { MergeError } from '@berth/contract'
import { doublingMs } from '@berth/platform/kit/backoff.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import { hostFailure, isPassing, pauseMs } from '../../delivery/failure.ts'
import type { DeliverySource } from '../../delivery/sources.ts'
import type { WorkQueue } from '../../delivery/work-queue.ts'
import { GitHostError } from '../../git-hosts/git-host.ts'
import { appendEvents } from '../log/append.ts'
import { findPublication } from '../publications/publication-sql.ts'
import { findSession, holdSession } from '../session/session-sql.ts'
import { verifiedState } from '../verifications/is-verified.ts'
import type { MergeRow } from './merge.ts'
import { mergeEvent } from './merge-event.ts'
import {
  claimedMerges,
  claimMerges,
  countAttempt,
  finishMerge,
  type MergeClaim,
  markMerging,
  parkMerge,
} from './merge-sql.ts'
import { nextStep } from './next-step.ts'

/** Number of times that a Merge asks a host that is still undecided, before the pull request counts as not ready. */
const MAX_CHECKS = 6
const LONGEST_CHECK_MS = 300_000

/** Offers due Merges to workers. */
export function mergeQueue(context: DeliveryContext): WorkQueue {
  return {
    name: 'merges',
    concurrency: 8,
    claim: async (by, limit) =>
      (await claimMerges(context.db, by, limit)).map(claim => ({
        renew: until => claimedMerges.renew(context.db, claim.claim, until),
        work: signal => merge(context, claim, signal),
      })),
  }
}

type Outcome =
  | { readonly commit: string }
  | { readonly errorCode: MergeError }
  | { readonly waitMs: number }
  | { readonly laterMs: number }
  | 'taken'

/** Takes a Merge to its end, or defers it. */
export async function merge(context: DeliveryContext, claim: MergeClaim, signal: AbortSignal): Promise<void> {
  const outcome = await outcomeOf(context, claim, signal)
  const { db, clock } = context
  const now = clock.now()
  if (outcome === 'taken') return
  if ('waitMs' in outcome) return parkMerge(db, claim.claim, new Date(now.getTime() + outcome.waitMs), now)
  if ('laterMs' in outcome) return claimedMerges.defer(db, claim.claim, new Date(now.getTime() + outcome.laterMs))
  await db.transaction(async tx => {
    await holdSession(tx, claim)
    const row = await finishMerge(tx, claim.claim, outcome, now)
    if (row !== null) await appendEvents(tx, claim, [mergeEvent(row)], now)
  })
  context.wakeups.publish(topics.session(claim.organizationId, claim.sessionId))
}

async function outcomeOf(context: DeliveryContext, claim: MergeClaim, signal: AbortSignal): Promise<Outcome> {
  try {
    const source = await context.sources.find(claim)
    if (source === null || source === 'revoked') return { errorCode: 'authority_revoked' }
    return await tryMerge(context, claim, source, signal)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof DatabaseUnavailable) throw error
    if (error instanceof GitHostError && !error.passing) return { errorCode: finalCode(error) }
    const fields = { err: error, mergeId: claim.row.id }
    if (isPassing(error)) context.log.warn(fields, 'a merge cannot reach its Git host, and is tried again')
    else context.log.error(fields, 'a merge failed, and is tried again')
    const laterMs = pauseMs(claim.row.failures, error)
    const { row } = claim
    const bound = context.delivery.mergeMs + (row.mode === 'when_ready' ? context.delivery.mergeWaitMs : 0)
    if (ageOf(context, row) + laterMs < bound) return { laterMs }
    return { errorCode: error instanceof GitHostError ? hostFailure(error) : 'internal_error' }
  }
}

function finalCode(error: GitHostError): MergeError {
  if (error.kind === 'head_moved') return 'head_moved'
  if (error.kind === 'not_found' && error.subject === 'pull') return 'pull_request_missing'
  if (error.kind === 'conflict' || error.kind === 'invalid') return 'merge_refused'
  return hostFailure(error)
}

async function tryMerge(
  context: DeliveryContext,
  key: MergeClaim,
  { host, repository }: DeliverySource,
  signal: AbortSignal,
): Promise<Outcome> {
  const { db, clock } = context
  const { claim, row } = key
  if (!(await countAttempt(db, claim, clock.now()))) return 'taken'
  const step = nextStep(await host.readPull(repository, row.pull_number, signal), row.head_sha)
  switch (step.kind) {
    case 'succeeded':
      return { commit: step.commit }
    case 'failed':
      return { errorCode: step.code }
    case 'poll_again':
      return checkAgain(context, row)
    case 'not_ready':
      return notReady(context, row)
    case 'merge':
  }
  if (!(await isLetIn(context, key))) return notReady(context, row)
  if (!(await markMerging(db, claim, clock.now()))) return 'taken'
  try {
    const merged = await host.mergePull(
      repository,
      {
        number: row.pull_number,
        strategy: row.strategy,
        expectedHeadOid: row.head_sha,
        ...(row.commit_title !== null && { commitTitle: row.commit_title }),
        ...(row.commit_message !== null && { commitMessage: row.commit_message }),
      },
      signal,
    )
    return { commit: merged.mergeCommitOid }
  } catch (error) {
    if (!(error instanceof GitHostError) || error.kind !== 'not_mergeable') throw error
    // Somebody may have merged or closed it since it was read, or moved its base.
    const after = nextStep(await host.readPull(repository, row.pull_number, signal), row.head_sha)
    if (after.kind === 'succeeded') return { commit: after.commit }
    if (after.kind === 'failed') return { errorCode: after.code }
    return after.kind === 'not_ready' ? notReady(context, row) : checkAgain(context, row)
  }
}

/** Returns whether the environment's checks let a pull request in: as for a host's, those that have not ended count. */
async function isLetIn({ db }: DeliveryContext, { row, ...key }: MergeClaim): Promise<boolean> {
  const [session, publication] = await Promise.all([findSession(db, key), findPublication(db, key, row.publication_id)])
  if (session === null || publication === null) return true
  const state = await verifiedState(db, key, session.environment_id, publication.revision)
  return !state.open && (state.verified || !state.required)
}

/** Tries again soon: the host is still undecided, or refused a merge that it reports as possible. */
const checkAgain = (context: DeliveryContext, row: MergeRow): Outcome =>
  row.failures < MAX_CHECKS ? { laterMs: pauseMs(row.failures, null) } : notReady(context, row)

/** Waits if the mode says so, else fails. */
function notReady(context: DeliveryContext, row: MergeRow): Outcome {
  const { mergeCheckMs, mergeWaitMs } = context.delivery
  if (row.mode !== 'when_ready' || ageOf(context, row) >= mergeWaitMs) return { errorCode: 'merge_not_ready' }
  return { waitMs: doublingMs(row.attempts + 1, mergeCheckMs, LONGEST_CHECK_MS) }
}

const ageOf = (context: DeliveryContext, row: MergeRow): number =>
  context.clock.now().getTime() - row.created_at.getTime()
