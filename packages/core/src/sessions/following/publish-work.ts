import { ApiError } from '@berth/platform/kit/api-error.ts'
import { requestHash } from '@berth/platform/kit/request-hash.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { findPersonName } from '../../accounts/me.ts'
import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import { findActiveGrant } from '../../repositories/active-grant.ts'
import { requireOwnAccess } from '../../repositories/people/require-own-access.ts'
import type { FollowUpClaim } from '../follow-ups/follow-up-sql.ts'
import { readWorkspaceRequest, requestWorkspace } from '../leases/workspace-request-sql.ts'
import { findMerge, insertMerge } from '../merges/merge-sql.ts'
import { findPublication, insertPublication } from '../publications/publication-sql.ts'
import { findWholeReview } from '../reviews/review-sql.ts'
import { lockSession } from '../session/session-sql.ts'
import { admitVerificationFor } from '../verifications/admit-verification.ts'
import { verifiedState } from '../verifications/is-verified.ts'
import { NotNow } from './begin-event.ts'
import type { Gathered } from './gather.ts'
import { mergeIdOf, publicationIdOf, verificationIdOf } from './step-ids.ts'
import { FollowUpTaken, needPerson, observedColumns, publish, release } from './steps.ts'

/** The strategy of merges: the commits of a follow-up are steps of one change. */
const STRATEGY = 'squash'

/**
 * Admits the Publication of a Turn's work on the branch of the pull request. A sandbox that was given back meanwhile is
 * asked for first.
 */
export async function publishWork(
  context: DeliveryContext,
  claim: FollowUpClaim,
  { facts, delivery, turn, session }: Gathered,
  revision: string,
): Promise<void> {
  const { now, row } = facts
  if (turn === null) throw new FollowUpTaken()
  if (!(await mayStillWrite(context, claim, session))) return needPerson(context, claim, facts, 'authority_revoked')
  const person = row.started_by_kind === 'person' ? await findPersonName(context.db, row.started_by_id) : null
  const { turnId } = turn.turn
  const id = publicationIdOf(row, turnId)
  const later = new Date(now.getTime() + context.delivery.follow.workMs)
  const outcome = await context.db.transaction(async tx => {
    const locked = await lockSession(tx, claim)
    if (locked === null || locked.archived_at !== null) throw new FollowUpTaken()
    if ((await findWholeReview(tx, claim, revision)) === null) return 'failed'
    if (!locked.lease_held) {
      const request = await readWorkspaceRequest(tx, claim)
      if (request === 'failed') return 'failed'
      if (request === 'none') await requestWorkspace(tx, claim, now)
      await release(tx, claim, observedColumns(facts), later)
      return 'asked'
    }
    if ((await findPublication(tx, claim, id)) === null) {
      const { title, body, branch, draft } = delivery
      const request = { id, request_hash: requestHash({ turnId, revision }), revision, title, body, branch, draft }
      const { verificationId } = await verifiedState(tx, claim, locked.environment_id, revision)
      const by = { requested_by_kind: row.started_by_kind, requested_by_id: row.started_by_id }
      const given = { ...request, ...by, delivery: 'pull_request' as const, author: person, follow_up: null }
      await insertPublication(tx, claim, { ...given, verification_id: verificationId }, now)
    }
    const turns = [...row.turns.slice(0, -1), { ...turn.turn, publicationId: id }]
    await release(tx, claim, { ...observedColumns(facts), turns, updated_at: now }, later)
    return 'admitted'
  })
  if (outcome === 'failed') return needPerson(context, claim, facts, 'publication_failed')
  publish(context, claim)
  if (outcome === 'asked') context.wakeups.publish(topics.queue)
}

/** Admits the verification of a Turn's work, before it is published. */
export async function verifyWork(
  context: DeliveryContext,
  claim: FollowUpClaim,
  { facts }: Gathered,
  revision: string,
): Promise<void> {
  const { now, row } = facts
  const by = { kind: row.started_by_kind, id: row.started_by_id }
  try {
    await admitVerificationFor(context, by, claim, verificationIdOf(row, revision), { revision, fresh: false })
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.status >= 500 || error.code === 'quota_exceeded') throw new NotNow(error)
    return needPerson(context, claim, facts, 'publication_failed')
  }
  const later = new Date(now.getTime() + context.delivery.follow.workMs)
  await context.db.transaction(tx => release(tx, claim, observedColumns(facts), later))
}

/** Admits the Merge of exactly the published head. */
export async function mergeHead(
  context: DeliveryContext,
  claim: FollowUpClaim,
  { facts, delivery, session }: Gathered,
): Promise<void> {
  const { now, row } = facts
  const { commit_sha: head, publication_id: publicationId } = delivery
  if (head === null || publicationId === null) throw new FollowUpTaken()
  if (!(await mayStillWrite(context, claim, session))) return needPerson(context, claim, facts, 'authority_revoked')
  const key = { ...claim, publicationId }
  const id = mergeIdOf(row, head)
  const request = { strategy: STRATEGY, mode: 'when_ready' as const, head }
  await context.db.transaction(async tx => {
    await lockSession(tx, claim)
    if ((await findMerge(tx, key, id)) === null) {
      const merge = {
        id,
        request_hash: requestHash(request),
        strategy: STRATEGY,
        mode: request.mode,
        head_sha: head,
      } as const
      await insertMerge(
        tx,
        key,
        { ...merge, commit_title: null, commit_message: null, pull_number: row.pull_number },
        now,
      )
    }
    const later = new Date(now.getTime() + context.delivery.follow.workMs)
    await release(tx, claim, { ...observedColumns(facts), cursor: null, updated_at: now }, later)
  })
  publish(context, claim)
}

/** Whether the person who began it may still write to the repository with an account of their own, if that is asked for. */
async function mayStillWrite(
  context: DeliveryContext,
  { row, organizationId }: FollowUpClaim,
  session: Gathered['session'],
): Promise<boolean> {
  if (row.started_by_kind !== 'person' || session.source === null) return true
  const grantee = { organizationId, installationId: session.owner_id }
  const grant = await findActiveGrant(context.db, grantee, session.source.grantId)
  if (grant === null) return false
  try {
    await requireOwnAccess(context, row.started_by_id, grant, 'write')
    return true
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.status >= 500) throw new NotNow(error)
    return false
  }
}
