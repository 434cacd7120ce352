import type { PullRequest, PullRequestPage, PullRequestState } from '@berth/contract'
import { decodeCursor, pageOf } from '@berth/platform/kit/list-cursor.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { toFollowUp } from '../follow-ups/follow-up.ts'
import { type FollowUpJson, listPulls, type PullRow } from './pull-sql.ts'

/**
 * Returns a page of the pull requests of the Sessions that the caller sees, the last delivered first.
 * @throws ApiError 400 if the cursor is of another list
 */
export async function pagePulls(
  context: Context,
  principal: Principal,
  query: { limit: number; cursor?: string; state?: PullRequestState; mine?: 'true' },
): Promise<PullRequestPage> {
  const { limit, cursor, state = null, mine } = query
  const list = `pull requests ${state ?? ''} ${mine ?? ''}`
  const rows = await listPulls(context.db, {
    organizationId: principal.organizationId,
    ownerId: principal.kind === 'person' ? null : principal.id,
    startedBy: mine === undefined ? null : principal.id,
    state,
    before: cursor === undefined ? null : decodeCursor(list, cursor),
    limit: limit + 1,
  })
  const { page, ...more } = pageOf(list, rows, limit, row => row.created_at)
  return { pullRequests: page.map(toPull), ...more }
}

const toPull = (row: PullRow): PullRequest => ({
  sessionId: row.session_id,
  sessionTitle: row.session_title,
  publicationId: row.id,
  repository: row.repository ?? '',
  number: row.number,
  url: row.url,
  title: row.title,
  state: row.state,
  turn: row.turn,
  followUp: row.follow_up === null ? null : toFollowUp(withTimes(row.follow_up)),
  costUsd: row.cost_usd,
  updatedAt: row.updated_at.toISOString(),
})

function withTimes(row: FollowUpJson): Parameters<typeof toFollowUp>[0] {
  const time = (text: string | null) => (text === null ? null : new Date(text))
  return {
    ...row,
    until: new Date(row.until),
    created_at: new Date(row.created_at),
    updated_at: new Date(row.updated_at),
    ended_at: time(row.ended_at),
    noted_at: time(row.noted_at),
  }
}
