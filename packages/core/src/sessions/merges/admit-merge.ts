import { type CreateMerge, limits, type Merge } from '@berth/contract'
import { refusal, sessionNotFound } from '@berth/platform/kit/refusal.ts'
import { requestHash } from '@berth/platform/kit/request-hash.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { findPublication } from '../publications/publication-sql.ts'
import { requireDeliverer } from '../publications/require-deliverer.ts'
import { lockVisibleSession } from '../session/read-session.ts'
import { toMerge } from './merge.ts'
import { findMerge, insertMerge, type MergeKey } from './merge-sql.ts'

/**
 * Admits the merge of a Publication's pull request, with its checks in the order that all commands share.
 * @throws ApiError 403 if the person may not deliver to the repository
 * @throws ApiError 404
 * @throws ApiError 409 `cloud_publication_merge_conflict` or `cloud_publication_not_mergeable`
 * @throws ApiError 400 if the message has too many bytes
 */
export async function admitMerge(
  context: Context,
  principal: Principal,
  key: MergeKey,
  id: string,
  body: CreateMerge,
): Promise<{ created: boolean; merge: Merge }> {
  if (Buffer.byteLength(body.commitMessage ?? '') > limits.proseBytes) throw refusal('invalid_input')
  if ((await findMerge(context.db, key, id)) === null) await requireDeliverer(context, principal, key)
  const now = context.clock.now()
  const hash = requestHash(body)
  const admitted = await context.db.transaction(async tx => {
    const session = await lockVisibleSession(tx, principal, key)
    const publication = await findPublication(tx, key, key.publicationId)
    if (publication === null) throw sessionNotFound()
    const known = await findMerge(tx, key, id)
    if (known !== null) {
      if (!known.request_hash.equals(hash)) throw refusal('cloud_publication_merge_conflict')
      return { created: false, row: known }
    }
    if (session.archived_at !== null) throw sessionNotFound()
    const { pullRequest, commitSha } = publication.result ?? {}
    if (pullRequest === undefined || commitSha === undefined) throw refusal('cloud_publication_not_mergeable')
    const row = await insertMerge(
      tx,
      key,
      {
        id,
        request_hash: hash,
        strategy: body.strategy,
        mode: body.mode,
        commit_title: body.commitTitle ?? null,
        commit_message: body.commitMessage ?? null,
        pull_number: pullRequest.number,
        head_sha: commitSha,
      },
      now,
    )
    return { created: true, row }
  })
  if (admitted.created) context.wakeups.publish(topics.deliveries)
  return { created: admitted.created, merge: toMerge(admitted.row) }
}
