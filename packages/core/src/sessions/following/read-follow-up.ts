import type { FollowUp } from '@berth/contract'
import { refusal, sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { type FollowUpRow, toFollowUp } from '../follow-ups/follow-up.ts'
import { findFollowUp } from '../follow-ups/follow-up-sql.ts'
import type { MergeKey } from '../merges/merge-sql.ts'
import { findPublication } from '../publications/publication-sql.ts'
import { readSession } from '../session/read-session.ts'

/**
 * Returns the follow-up of a Publication's pull request, of a Session that the caller sees.
 * @throws ApiError 404 `cloud_session_not_found` or `cloud_follow_up_not_found`
 */
export async function readFollowUp(context: Context, principal: Principal, key: MergeKey): Promise<FollowUp> {
  await readSession(context, principal, key)
  return toFollowUp(await requireFollowUp(context.db, key))
}

/**
 * Returns the follow-up of the pull request of a Publication.
 * @throws ApiError 404 `cloud_session_not_found` if there is no such Publication, or `cloud_follow_up_not_found`
 */
export async function requireFollowUp(db: Queryable, key: MergeKey): Promise<FollowUpRow> {
  const publication = await findPublication(db, key, key.publicationId)
  if (publication === null) throw sessionNotFound()
  const number = publication.result?.pullRequest?.number
  const row = number === undefined ? null : await findFollowUp(db, key, number)
  if (row === null) throw refusal('cloud_follow_up_not_found')
  return row
}
