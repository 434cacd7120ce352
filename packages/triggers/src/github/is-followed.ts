import type { FollowableCause, GitHubEventKind } from '@berth/contract'
import { findFollowUp } from '@berth/core/sessions/follow-ups/follow-up-sql.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { GitHubEvent } from './github-event.ts'

const causes: Partial<Record<GitHubEventKind, FollowableCause>> = {
  comment: 'reviews',
  review: 'reviews',
  check_failed: 'checks',
}

/** Returns whether the follow-up of a pull request takes an event of it: one event must not make two Turns. */
export async function isFollowed(
  db: Queryable,
  key: SessionKey,
  { kind, isPull, number }: GitHubEvent,
): Promise<boolean> {
  const cause = causes[kind]
  if (!isPull || number === null || cause === undefined) return false
  const row = await findFollowUp(db, key, number)
  return row !== null && (row.state === 'watching' || row.state === 'working') && row.causes.includes(cause)
}
