import type { LocalReview, WriteLocalReview } from '@berth/contract'
import { invalidField, refusal } from '@berth/platform/kit/refusal.ts'
import { readProfile } from '../../accounts/me.ts'
import type { Context } from '../../context.ts'
import { GitHostError } from '../../git-hosts/git-host.ts'
import { LOCAL_ACCOUNT } from '../../git-hosts/local/local-host.ts'
import {
  findReview,
  insertReview,
  type LocalComment,
  type LocalReviewRow,
  listReviews,
} from '../../git-hosts/local/local-review-sql.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { wakeFollowUps } from '../follow-ups/follow-up-sql.ts'
import { hiddenPull, requireLocalPull } from './local-pull.ts'
import { toReview } from './local-review.ts'

/**
 * Writes a review of an open pull request of a repository that the service itself hosts, and lets what follows the pull
 * request know.
 * @throws ApiError 404 `cloud_repository_grant_not_found`
 * @throws ApiError 409 `local_review_conflict`
 * @throws ApiError 400 `invalid_request` for a review that says nothing, answers in no thread, or comes too late
 */
export async function reviewLocalPull(
  context: Context,
  principal: Principal,
  at: { readonly repositoryId: string; readonly number: string; readonly reviewId: string },
  written: WriteLocalReview,
  signal: AbortSignal,
): Promise<{ readonly created: boolean; readonly review: LocalReview }> {
  const { db, clock } = context
  const host = await requireLocalPull(context, principal, at)
  const repository = { account: LOCAL_ACCOUNT, repositoryId: at.repositoryId }
  const key = { repositoryId: at.repositoryId, number: Number(at.number) }
  const id = at.reviewId.toLowerCase()
  const known = await findReview(db, key, id)
  const { state, body = '', comments = [] } = written
  const threads = new Map((await listReviews(db, key)).flatMap(row => row.comments).map(each => [each.threadId, each]))
  if (known !== null) return replay(known)
  if (body.trim() === '' && comments.length === 0 && state !== 'approved') {
    throw invalidField(['body'], 'says nothing, and there are no comments')
  }
  const pull = await host.readPull(repository, key.number, signal).catch(error => {
    throw error instanceof GitHostError && error.kind === 'not_found' ? hiddenPull() : error
  })
  if (pull.state !== 'open') throw invalidField([], `comes too late: the pull request is ${pull.state}`)
  const row: LocalReviewRow = {
    ...{ id, state, body, comments: toComments(), head_oid: pull.headOid, created_at: clock.now() },
    ...(await authorOf()),
  }
  if (!(await insertReview(db, key, row))) return replay(await findReview(db, key, id))
  await wakeFollowUps(db, { provider: host.kind, repositoryId: at.repositoryId }, clock.now())
  return { created: true, review: toReview(row) }

  function toComments() {
    return comments.map(({ path, line = null, threadId, body: text }, at) => {
      const thread = threadId === undefined ? undefined : threads.get(threadId)
      if (threadId !== undefined && thread === undefined)
        throw invalidField(['comments', String(at), 'threadId'], 'is no thread of this pull request')
      return { id: `${id}.${at}`, threadId: threadId ?? `${id}.${at}`, path: thread?.path ?? path, line, body: text }
    })
  }

  function replay(found: LocalReviewRow | null) {
    const same =
      found !== null &&
      found.author_id === principal.id &&
      JSON.stringify([found.state, found.body, found.comments.map(each => comparable(each, each.id))]) ===
        JSON.stringify([state, body, comments.map(each => comparable(each))])
    if (!same) throw refusal('local_review_conflict')
    return { created: false, review: toReview(found) }
  }

  async function authorOf() {
    const { kind, id: author_id } = principal
    const author_name = kind === 'person' ? (await readProfile(db, principal)).name : 'An integration'
    return { author_id, author_name, written_by: kind }
  }
}

/** Returns what a caller says in a comment, the same before it is written and after: an answer is at the place of its thread. */
function comparable(
  { path, line, threadId, body }: NonNullable<WriteLocalReview['comments']>[number] | LocalComment,
  id?: string,
) {
  return [threadId === id ? path : threadId, line ?? null, body]
}
