import { type CreatePublication, limits, type Publication } from '@berth/contract'
import { invalidField, refusal, sessionNotFound, workspaceLapsed } from '@berth/platform/kit/refusal.ts'
import { requestHash } from '@berth/platform/kit/request-hash.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { readProfile } from '../../accounts/me.ts'
import type { Context } from '../../context.ts'
import { isBranchName } from '../../git/branch-name.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { requireMayFollow } from '../follow-ups/require-may-follow.ts'
import { findWholeReview } from '../reviews/review-sql.ts'
import { lockVisibleSession } from '../session/read-session.ts'
import { verifiedState } from '../verifications/is-verified.ts'
import { defaultBranch } from './branch-name.ts'
import { toPublication } from './publication.ts'
import { findPublication, insertPublication } from './publication-sql.ts'
import { requireDeliverer } from './require-deliverer.ts'

/**
 * Admits the delivery of a reviewed revision, with its checks in the order that all commands share. The Publication
 * reports its own outcome, for example that the workspace has changed since the review.
 * @throws ApiError 403 if the person may not deliver to the repository, or the caller may not merge and the follow-up is to
 * @throws ApiError 404
 * @throws ApiError 409 `cloud_publication_conflict`, `cloud_repository_required`, `cloud_verification_required` or
 *   `cloud_workspace_expired`
 * @throws ApiError 400 if the Session never made the revision, the branch name is invalid, or the body has too many
 *   bytes
 */
export async function admitPublication(
  context: Context,
  principal: Principal,
  key: SessionKey,
  id: string,
  body: CreatePublication,
): Promise<{ created: boolean; publication: Publication }> {
  refuseInvalid(body)
  const { followUp } = body
  if (followUp !== undefined) requireMayFollow(principal, followUp)
  if ((await findPublication(context.db, key, id)) === null) await requireDeliverer(context, principal, key)
  const author = principal.kind === 'person' ? await readProfile(context.db, principal) : null
  const now = context.clock.now()
  const admitted = await context.db.transaction(async tx => {
    const session = await lockVisibleSession(tx, principal, key)
    const target = session.source?.baseBranch
    const branch = body.branch ?? (body.delivery === 'direct_branch' ? target : defaultBranch(key.sessionId))
    const hash = requestHash({ ...body, branch })
    const known = await findPublication(tx, key, id)
    if (known !== null) {
      if (!known.request_hash.equals(hash)) throw refusal('cloud_publication_conflict')
      return { created: false, row: known }
    }
    if (session.archived_at !== null) throw sessionNotFound()
    if (target === undefined || branch === undefined) throw refusal('cloud_repository_required')
    requireDeliverable(body, branch, target)
    if ((await findWholeReview(tx, key, body.revision)) === null) {
      throw invalidField(['revision'], 'is not a revision that this Session has made lately; read its review first')
    }
    const state = await verifiedState(tx, key, session.environment_id, body.revision)
    if ((body.verified || state.required) && !state.verified) throw refusal('cloud_verification_required')
    if (!session.lease_held) throw workspaceLapsed(session.id)
    const row = await insertPublication(
      tx,
      key,
      {
        id,
        request_hash: hash,
        revision: body.revision,
        title: body.title,
        body: body.body ?? '',
        delivery: body.delivery,
        branch,
        draft: body.draft,
        author: author && { name: author.name, email: author.email },
        follow_up:
          followUp === undefined ? null : { request: followUp, by: { kind: principal.kind, id: principal.id } },
        requested_by_kind: principal.kind,
        requested_by_id: principal.id,
        verification_id: state.verificationId,
      },
      now,
    )
    return { created: true, row }
  })
  if (admitted.created) context.wakeups.publish(topics.deliveries)
  return { created: admitted.created, publication: toPublication(admitted.row) }
}

function refuseInvalid({ body, branch, delivery, followUp }: CreatePublication): void {
  if (followUp !== undefined && delivery !== 'pull_request') {
    throw invalidField(['followUp'], 'applies only to pull requests')
  }
  if (Buffer.byteLength(body ?? '') > limits.proseBytes) throw refusal('invalid_input')
  if (branch !== undefined && branch !== null && !isBranchName(branch)) {
    throw invalidField(['branch'], 'is not a name that git takes for a branch')
  }
}

function requireDeliverable({ delivery, draft }: CreatePublication, branch: string, target: string): void {
  if (delivery === 'direct_branch') {
    if (branch !== target) throw invalidField(['branch'], 'is not the branch that the Session started from')
    if (draft) throw invalidField(['draft'], 'applies only to pull requests')
  } else if (branch === target) {
    throw invalidField(['branch'], 'is the target of the pull request')
  }
}
