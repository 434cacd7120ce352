import type { PullRequestState, PullRequestTurn } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { statementName } from '@berth/platform/storage/postgres/statement-name.ts'
import type { FollowUpRow } from '../follow-ups/follow-up.ts'

/** Returns the commit that a Session has published to a pull request last; null if it has published none. */
export async function findNewestHead(db: Queryable, key: SessionKey, pullNumber: number): Promise<string | null> {
  const { rows } = await db.query<{ head: string }>({
    text: `
      select result ->> 'commitSha' as head from publications
      where organization_id = $1 and session_id = $2 and result -> 'pullRequest' ->> 'number' = $3 and result is not null
      order by created_at desc, id desc limit 1`,
    values: [key.organizationId, key.sessionId, String(pullNumber)],
  })
  return rows[0]?.head ?? null
}

/** A pull request that a Session has published, as lists show it. */
export interface PullRow {
  /** Of its newest Publication. */
  readonly id: string
  readonly created_at: Date
  readonly updated_at: Date
  readonly session_id: string
  readonly session_title: string
  readonly repository: string | null
  readonly number: number
  readonly url: string
  readonly title: string
  readonly state: PullRequestState
  readonly turn: PullRequestTurn
  readonly follow_up: FollowUpJson | null
  readonly cost_usd: number
}

/** A row as the database writes it into JSON: times are text. */
export type FollowUpJson = {
  readonly [Column in keyof FollowUpRow]: FollowUpRow[Column] extends Date
    ? string
    : FollowUpRow[Column] extends Date | null
      ? string | null
      : FollowUpRow[Column]
}

export interface PullFilter {
  readonly organizationId: string
  /** Only Sessions of this owner; null for people, who see all of the organization's. */
  readonly ownerId: string | null
  /** Only Sessions that this person started; null: of everybody. */
  readonly startedBy: string | null
  readonly state: PullRequestState | null
  /** Exclusive: the last row of the previous page. */
  readonly before: { readonly updatedAt: Date; readonly id: string } | null
  readonly limit: number
}

/** Whether it is merged, by the service's own Merge or by the host's word. */
const stateOf = `case when m.merged then 'merged' else coalesce(f.pull_state, 'unknown') end`

/**
 * Lists the pull requests of an organization's live Sessions by the time of their newest Publications, newest first, on
 * `publications_with_pull`.
 */
export async function listPulls(db: Queryable, filter: PullFilter): Promise<PullRow[]> {
  const values: unknown[] = [filter.organizationId]
  const bind = (value: unknown) => `$${values.push(value)}`
  const conditions = ['p.organization_id = $1', `p.result -> 'pullRequest' is not null`, 's.archived_at is null']
  conditions.push('not s.is_trial')
  if (filter.ownerId !== null) conditions.push(`s.owner_id = ${bind(filter.ownerId)}`)
  if (filter.startedBy !== null) conditions.push(`${bind(filter.startedBy)} in (s.owner_id, s.initiated_by)`)
  if (filter.state !== null) conditions.push(`${stateOf} = ${bind(filter.state)}`)
  if (filter.before !== null) {
    conditions.push(`(p.created_at, p.id) < (${bind(filter.before.updatedAt)}, ${bind(filter.before.id)})`)
  }
  const text = `
    select p.id, p.created_at, p.session_id, s.title as session_title, g.full_name as repository,
      (p.result -> 'pullRequest' ->> 'number')::integer as number, p.result -> 'pullRequest' ->> 'url' as url,
      coalesce(f.pull_title, p.title) as title, ${stateOf} as state, to_jsonb(f) as follow_up,
      greatest(p.updated_at, f.updated_at) as updated_at, coalesce(c.usd, 0)::double precision as cost_usd,
      case
        when ${stateOf} in ('merged', 'closed') then 'nobody'
        when f.state = 'working' or exists (
          select from runs r where r.organization_id = s.organization_id and r.session_id = s.id and r.ended_at is null
        ) then 'agent'
        when f.state = 'watching' then f.awaits
        else 'person'
      end as turn
    from publications p join sessions s on s.organization_id = p.organization_id and s.id = p.session_id
    left join repository_grants g on g.id = (s.source ->> 'grantId')::uuid
    left join lateral (
      select * from follow_ups w
      where w.organization_id = p.organization_id and w.session_id = p.session_id
        and w.pull_number::text = p.result -> 'pullRequest' ->> 'number'
      order by w.ended_at is null desc, w.updated_at desc limit 1
    ) f on true
    cross join lateral (
      select exists (
        select from merges x where x.organization_id = p.organization_id and x.session_id = p.session_id
          and x.pull_number::text = p.result -> 'pullRequest' ->> 'number' and x.status = 'succeeded') as merged
    ) m
    left join lateral (
      select sum(cost_usd) as usd from runs where organization_id = s.organization_id and session_id = s.id
    ) c on true
    where ${conditions.join(' and ')} and not exists (
      select from publications n where n.organization_id = p.organization_id and n.session_id = p.session_id
        and n.result -> 'pullRequest' ->> 'number' = p.result -> 'pullRequest' ->> 'number'
        and (n.created_at, n.id) > (p.created_at, p.id))
    order by p.created_at desc, p.id desc limit ${bind(filter.limit)}`
  const { rows } = await db.query<PullRow>({ name: statementName('list-pulls', text), text, values })
  return rows
}
