import type { FollowUp, FollowUpRequest } from '@berth/contract'
import { refusal, sessionNotFound } from '@berth/platform/kit/refusal.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { beginFollowUp } from '../follow-ups/begin-follow-up.ts'
import { toFollowUp } from '../follow-ups/follow-up.ts'
import { requireMayFollow } from '../follow-ups/require-may-follow.ts'
import type { MergeKey } from '../merges/merge-sql.ts'
import { findPublication } from '../publications/publication-sql.ts'
import { requireDeliverer } from '../publications/require-deliverer.ts'
import { lockVisibleSession } from '../session/read-session.ts'
import { findNewestHead } from './pull-sql.ts'

/**
 * Begins to follow the pull request of a Publication, or gives its follow-up new bounds and resumes it.
 * @throws ApiError 403 if the person may not deliver to the repository, or the caller may not merge
 * @throws ApiError 404
 * @throws ApiError 409 `cloud_publication_not_mergeable` or `cloud_follow_up_ended`
 */
export async function putFollowUp(
  context: Context,
  principal: Principal,
  key: MergeKey,
  request: FollowUpRequest,
  clientAddress: string,
): Promise<FollowUp> {
  requireMayFollow(principal, request)
  await requireDeliverer(context, principal, key)
  const now = context.clock.now()
  const row = await context.db.transaction(async tx => {
    const session = await lockVisibleSession(tx, principal, key)
    const publication = await findPublication(tx, key, key.publicationId)
    if (publication === null || session.archived_at !== null) throw sessionNotFound()
    const pull = publication.result?.pullRequest
    if (pull === undefined) throw refusal('cloud_publication_not_mergeable')
    const headSha = await findNewestHead(tx, key, pull.number)
    if (headSha === null) throw refusal('cloud_publication_not_mergeable')
    const by = { kind: principal.kind, id: principal.id }
    const { publicationId } = key
    const begun = { publicationId, pull: { ...pull, title: publication.title }, headSha, request, by, clientAddress }
    const followed = await beginFollowUp(tx, key, begun, now)
    if (followed === null) throw refusal('cloud_follow_up_ended')
    return followed
  })
  context.wakeups.publish(topics.deliveries, topics.session(key.organizationId, key.sessionId))
  return toFollowUp(row)
}
