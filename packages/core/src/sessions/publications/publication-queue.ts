import type { PublicationError, PublicationResult } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import { hostFailure, isPassing, pauseMs } from '../../delivery/failure.ts'
import type { DeliverySource } from '../../delivery/sources.ts'
import type { WorkQueue } from '../../delivery/work-queue.ts'
import { GitHostError } from '../../git-hosts/git-host.ts'
import { keepArtifact, type NewArtifact } from '../artifacts/keep-artifact.ts'
import { beginFollowUp } from '../follow-ups/begin-follow-up.ts'
import { noteHead } from '../follow-ups/follow-up-sql.ts'
import { appendEvents } from '../log/append.ts'
import { holdSession } from '../session/session-sql.ts'
import { attempt, ClaimTaken } from './attempt.ts'
import { prepare, reviewOf } from './prepare.ts'
import type { Obstacle, PublicationRow } from './publication.ts'
import { PublicationFailed } from './publication-failed.ts'
import {
  claimedPublications,
  claimPublications,
  finishPublication,
  markAttempted,
  markPrepared,
  type PublicationClaim,
} from './publication-sql.ts'
import { putStatement } from './put-statement.ts'
import { publicationEvent } from './under-way.ts'

/** Offers due Publications to workers. */
export function publicationQueue(context: DeliveryContext): WorkQueue {
  return {
    name: 'publications',
    concurrency: 8,
    claim: async (by, limit) =>
      (await claimPublications(context.db, { ...by, hosts: context.hosts.ids() }, limit)).map(claim => ({
        renew: until => claimedPublications.renew(context.db, claim.claim, until),
        work: signal => deliver(context, claim, signal),
      })),
  }
}

/** Takes a Publication from its present state to its end, or defers it. */
export async function deliver(context: DeliveryContext, claim: PublicationClaim, signal: AbortSignal): Promise<void> {
  try {
    await finish(context, claim, await outcomeOf(context, claim, signal))
  } catch (error) {
    if (error instanceof ClaimTaken) return
    signal.throwIfAborted()
    if (error instanceof DatabaseUnavailable) throw error
    const now = context.clock.now()
    const dueAt = new Date(now.getTime() + pauseMs(claim.row.failures, error))
    if (dueAt.getTime() > claim.row.created_at.getTime() + context.delivery.publicationMs) {
      return finish(context, claim, { errorCode: finalError(error) }).catch(ignoreTaken)
    }
    const fields = { err: error, publicationId: claim.row.id }
    if (isPassing(error)) context.log.warn(fields, 'a publication cannot reach its Git host, and is tried again')
    else context.log.error(fields, 'a publication failed, and is tried again')
    await claimedPublications.defer(context.db, claim.claim, dueAt)
  }
}

function finalError(error: unknown): PublicationError {
  if (error instanceof GitHostError) return hostFailure(error)
  return isPassing(error) ? 'git_host_unavailable' : 'internal_error'
}

function ignoreTaken(error: unknown): void {
  if (!(error instanceof ClaimTaken)) throw error
}

type Outcome =
  | { readonly result: PublicationResult }
  | { readonly errorCode: PublicationError; readonly obstacle?: Obstacle | null }

async function outcomeOf(context: DeliveryContext, claim: PublicationClaim, signal: AbortSignal): Promise<Outcome> {
  try {
    return { result: await takeSteps(context, claim, signal) }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof PublicationFailed) return { errorCode: error.code, obstacle: error.obstacle }
    if (error instanceof GitHostError && !error.passing) return { errorCode: hostFailure(error) }
    throw error
  }
}

async function takeSteps(
  context: DeliveryContext,
  claim: PublicationClaim,
  signal: AbortSignal,
): Promise<PublicationResult> {
  const { db, clock } = context
  const recorded = (row: PublicationRow | null): PublicationRow => {
    if (row === null) throw new ClaimTaken()
    return row
  }
  let { row } = claim
  if (row.status === 'admitted') {
    const commit = await prepare(context, claim, await sourceOf(context, claim), signal)
    row = recorded(await markPrepared(db, claim.claim, commit, clock.now()))
  }
  if (row.status === 'prepared') row = recorded(await markAttempted(db, claim.claim, clock.now()))
  return attempt(context, { ...claim, row }, await sourceOf(context, claim), signal)
}

/** Reads the grant for each step: a step may take long, and a grant that was revoked meanwhile must not be used. */
async function sourceOf(context: DeliveryContext, claim: PublicationClaim): Promise<DeliverySource> {
  const source = await context.sources.find(claim)
  if (source === null || source === 'revoked') throw new PublicationFailed('authority_revoked')
  // A Turn may have moved the workspace to a newer base since, which the revision knows nothing of.
  return { ...source, baseOid: (await reviewOf(context, claim)).base_oid }
}

/**
 * Records the end of a Publication with its Artifacts and its Events, in one transaction. The statement is signed before
 * that: whoever takes over a Publication that has not ended signs its own, and only the one of the end is kept.
 */
async function finish(context: DeliveryContext, claim: PublicationClaim, outcome: Outcome): Promise<void> {
  const record = 'result' in outcome ? await putRecord(context, claim.row, outcome.result) : null
  const statement = 'result' in outcome ? await putStatement(context, claim, outcome.result) : null
  await context.db.transaction(async tx => {
    await holdSession(tx, claim)
    const now = context.clock.now()
    const keep = async (artifact: NewArtifact | null) =>
      artifact === null ? null : await keepArtifact(tx, claim, artifact, now)
    const kept = [await keep(record), await keep(statement)] as const
    const row = await finishPublication(tx, claim.claim, outcome, kept[1]?.id ?? null, now)
    if (row === null) throw new ClaimTaken()
    await followPull(tx, claim, row, now)
    const drafts = kept.flatMap(each => each?.draft ?? [])
    const about = drafts.map(draft => ({ ...draft, data: { ...draft.data, publicationId: row.id } }))
    await appendEvents(tx, claim, [...about, publicationEvent(row)], now)
  })
  context.wakeups.publish(topics.session(claim.organizationId, claim.sessionId), topics.deliveries)
}

/** Begins the follow-up that was asked for, and tells the one that there is which commit its pull request has now. */
async function followPull(tx: Queryable, key: SessionKey, row: PublicationRow, now: Date): Promise<void> {
  const { pullRequest: pull, commitSha: headSha } = row.result ?? {}
  if (pull === undefined || headSha === undefined) return
  await noteHead(tx, key, { number: pull.number, headSha }, now)
  if (row.follow_up === null) return
  const begun = { publicationId: row.id, pull: { ...pull, title: row.title }, headSha, ...row.follow_up }
  await beginFollowUp(tx, key, begun, now)
}

/** Stores the record of a pull request for the Session's Artifacts; null without a pull request. */
async function putRecord(
  context: DeliveryContext,
  row: PublicationRow,
  result: PublicationResult,
): Promise<NewArtifact | null> {
  if (result.pullRequest === undefined) return null
  const { revision, title, body } = row
  const record = { publicationId: row.id, revision, title, body, ...result }
  const blob = await context.blobs.put(Buffer.from(`${JSON.stringify(record, null, 2)}\n`))
  const name = `pull-request-${result.pullRequest.number}.json`
  return { runId: null, kind: 'pull_request_record', name, mediaType: 'application/json', ...blob }
}
