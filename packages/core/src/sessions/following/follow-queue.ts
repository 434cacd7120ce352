import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import { isPassing, pauseMs } from '../../delivery/failure.ts'
import type { WorkQueue } from '../../delivery/work-queue.ts'
import { GitHostError } from '../../git-hosts/git-host.ts'
import { claimedFollowUps, claimFollowUps, type FollowUpClaim, NEVER } from '../follow-ups/follow-up-sql.ts'
import { beginEvent, NotNow } from './begin-event.ts'
import { decide } from './decide.ts'
import { type FollowedSource, gather } from './gather.ts'
import { lastComment, owesComment } from './last-comment.ts'
import { mergeHead, publishWork, verifyWork } from './publish-work.ts'
import { settleTurn } from './settle-turn.ts'
import { markerOf } from './step-ids.ts'
import { end, FollowUpTaken, needPerson, release, resume, wait } from './steps.ts'

/** How long the last comment is tried, in milliseconds. */
const COMMENT_MS = 86_400_000

/** Offers due follow-ups to workers. */
export function followQueue(context: DeliveryContext): WorkQueue {
  return {
    name: 'follow-ups',
    concurrency: 8,
    claim: async (by, limit) =>
      (await claimFollowUps(context.db, by, limit)).map(claim => ({
        renew: until => claimedFollowUps.renew(context.db, claim.claim, until),
        work: signal => follow(context, claim, signal),
      })),
  }
}

/** Takes a follow-up one step further, or defers it. */
export async function follow(context: DeliveryContext, claim: FollowUpClaim, signal: AbortSignal): Promise<void> {
  try {
    await takeStep(context, claim, signal)
  } catch (error) {
    if (error instanceof FollowUpTaken) return
    signal.throwIfAborted()
    if (error instanceof DatabaseUnavailable) throw error
    const now = context.clock.now()
    if (
      error instanceof GitHostError &&
      !error.passing &&
      claim.row.ended_at === null &&
      claim.row.state !== 'needs_person'
    ) {
      context.log.warn({ err: error, pullRequest: claim.row.pull_url }, 'a host refuses what a follow-up needs')
      return needPerson(context, claim, { now }, 'host_refused').catch(ignoreTaken)
    }
    const fields = { err: error, pullRequest: claim.row.pull_url }
    if (isPassing(error) || error instanceof NotNow) {
      context.log.warn(fields, 'a follow-up cannot go on now, and is tried again')
    } else context.log.error(fields, 'a follow-up failed, and is tried again')
    await claimedFollowUps.defer(context.db, claim.claim, new Date(now.getTime() + pauseMs(claim.row.failures, error)))
  }
}

function ignoreTaken(error: unknown): void {
  if (!(error instanceof FollowUpTaken)) throw error
}

async function takeStep(context: DeliveryContext, claim: FollowUpClaim, signal: AbortSignal): Promise<void> {
  const source = await followedSource(context, claim)
  if (owesComment(claim.row)) return comment(context, claim, source, signal)
  if (claim.row.ended_at !== null) {
    await context.db.transaction(tx => release(tx, claim, {}, NEVER))
    return
  }
  const gathered = await gather(context, claim, source === 'unsupported' ? null : source, signal)
  if (gathered === null) throw new FollowUpTaken()
  const { facts } = gathered
  if (source === 'unsupported') return needPerson(context, claim, facts, 'host_refused')
  const decision = decide(facts, context.delivery.follow)
  if (decision.kind === 'wait') return wait(context, claim, facts, decision)
  if (decision.kind === 'need') return needPerson(context, claim, facts, decision.reason)
  if (decision.kind === 'end' || decision.kind === 'stop') return end(context, claim, facts, decision)
  if (decision.kind === 'resume') return resume(context, claim, facts)
  if (source === null) throw new Error('a follow-up is to act at a host that it does not reach')
  switch (decision.kind) {
    case 'turn':
      return beginEvent(context, claim, gathered, source, decision.event, signal)
    case 'verify':
      return verifyWork(context, claim, gathered, decision.revision)
    case 'publish':
      return publishWork(context, claim, gathered, decision.revision)
    case 'settle':
      return settleTurn(context, claim, gathered, source, signal)
    case 'merge':
      return mergeHead(context, claim, gathered)
  }
}

/** Null if no grant covers the repository any more. */
async function followedSource(
  context: DeliveryContext,
  claim: FollowUpClaim,
): Promise<FollowedSource | 'unsupported' | null> {
  const source = await context.sources.find(claim)
  if (source === null || source === 'revoked') return null
  const { following } = source.host
  return following === undefined ? 'unsupported' : { ...source, following }
}

/** Writes the one comment of a round, unless it is there, and leaves the row to rest. */
async function comment(
  context: DeliveryContext,
  claim: FollowUpClaim,
  source: FollowedSource | 'unsupported' | null,
  signal: AbortSignal,
): Promise<void> {
  const { row } = claim
  const now = context.clock.now()
  if (source !== null && source !== 'unsupported') {
    const { following, repository } = source
    const number = row.pull_number
    try {
      const marker = markerOf(row, 'end')
      if ((await following.findOwnComment(repository, { number, since: row.created_at }, marker, signal)) === null) {
        const sessionUrl = `${context.consoleUrl}/sessions/${row.session_id}`
        await following.addComment(repository, number, lastComment(row, sessionUrl), signal)
      }
    } catch (error) {
      const isFinal = error instanceof GitHostError && !error.passing
      if (!isFinal && now.getTime() < row.updated_at.getTime() + COMMENT_MS) throw error
      context.log.warn(
        { err: error, pullRequest: row.pull_url },
        'the last comment of a follow-up could not be written',
      )
    }
  }
  await context.db.transaction(tx =>
    release(tx, claim, { noted_at: now, failures: 0 }, row.ended_at === null ? now : NEVER),
  )
}
