import type { SessionStatus } from '@berth/contract'
import { hasLostWork } from '@berth/core/sessions/session/lost-work-sql.ts'
import { listedAt } from '@berth/core/sessions/session/session-sql.ts'
import { hasStatus, statusJoins } from '@berth/core/sessions/session/status-sql.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { statementName } from '@berth/platform/storage/postgres/statement-name.ts'
import { isSnoozed } from './mark-sql.ts'

/** Words of a search that count; the rest is left out. */
const MAX_WORDS = 8
/** A count goes no further, as the contract says. */
const mostCounted = 10_000

/** The Sessions that a person wants to see. Absent members filter nothing. */
export interface ListFilter {
  readonly organizationId: string
  readonly personId: string
  readonly archived: 'no' | 'both' | 'only'
  readonly q: string | undefined
  readonly status: SessionStatus | 'rest' | undefined
  readonly mine: boolean
  readonly pinned: boolean | undefined
  readonly snoozed: boolean | undefined
  readonly repository: { readonly kind: string; readonly id: string } | undefined
  readonly withPull: boolean
  /** Exclusive: the last row of the previous page. */
  readonly before: { readonly updatedAt: Date; readonly id: string } | null
}

export interface ListedRow {
  readonly id: string
  readonly updated_at: Date
}

/**
 * The few Sessions of an organization that wait or work, from indexes of what is open: the database hashes them once
 * instead of asking for each Session.
 */
const waiting = `select session_id from interactions where organization_id = $1 and status = 'open'`
const working = `
  select session_id from runs where organization_id = $1 and ended_at is null
  union all
  select session_id from executions where organization_id = $1 and task = 'seal'`

const groups: Readonly<Record<string, readonly string[]>> = {
  needs_you: [`(s.id in (${waiting}) or ${hasLostWork('s')})`],
  working: [`s.id in (${working})`, `not s.id = any(array(${waiting}))`],
  rest: [`not s.id = any(array(${working}))`, `not s.id = any(array(${waiting}))`, `not ${hasLostWork('s')}`],
}

/** Returns the rows that a filter keeps, after `from`, and what they bind. */
function kept(filter: ListFilter) {
  const values: unknown[] = [filter.organizationId]
  const bind = (value: unknown) => `$${values.push(value)}`
  const conditions = ['s.organization_id = $1', 'not s.is_trial']
  if (filter.archived === 'no') conditions.push('s.archived_at is null')
  if (filter.archived === 'only') conditions.push('s.archived_at is not null')
  for (const word of (filter.q ?? '').split(/\s+/).filter(Boolean).slice(0, MAX_WORDS)) {
    const text = `lower(concat_ws(' ', s.title, s.source ->> 'label', s.source ->> 'baseBranch', s.id))`
    conditions.push(`position(lower(${bind(word)}) in ${text}) > 0`)
  }
  const { status } = filter
  const group = groups[status ?? '']
  if (group !== undefined) conditions.push(...group)
  else if (status !== undefined && status !== 'rest') conditions.push(hasStatus(status))
  if (filter.mine) conditions.push(`${bind(filter.personId)} in (s.owner_id, s.initiated_by)`)
  if (filter.pinned !== undefined) {
    conditions.push(`s.id ${filter.pinned ? '' : 'not '}in (
      select session_id from session_marks
      where organization_id = $1 and person_id = ${bind(filter.personId)} and pinned_at is not null)`)
  }
  if (filter.snoozed !== undefined) {
    conditions.push(`${filter.snoozed ? '' : 'not '}s.id = any(array(
      select m.session_id from session_marks m
      where m.organization_id = $1 and m.person_id = ${bind(filter.personId)} and ${isSnoozed}))`)
  }
  if (filter.repository !== undefined) {
    const { kind, id } = filter.repository
    conditions.push(`s.source ->> 'kind' = ${bind(kind)} and s.source ->> 'repositoryId' = ${bind(id)}`)
  }
  if (filter.withPull) {
    conditions.push(`exists (
      select from publications p where p.organization_id = s.organization_id and p.session_id = s.id
        and p.result -> 'pullRequest' is not null)`)
  }
  if (filter.before !== null) {
    const at = bind(filter.before.updatedAt)
    conditions.push(`s.listed_at <= ${listedAt(at)} and (s.updated_at, s.id) < (${at}, ${bind(filter.before.id)})`)
  }
  const joins = status === undefined || group !== undefined ? '' : statusJoins
  return { rows: `sessions s ${joins} where ${conditions.join(' and ')}`, values, bind }
}

/** Counts the Sessions that a filter keeps, up to the contract's bound. */
export async function countSessions(db: Queryable, filter: ListFilter): Promise<number> {
  const { rows: from, values } = kept(filter)
  const text = `select count(*)::integer as count from (select from ${from} limit ${mostCounted}) counted`
  const { rows } = await db.query<{ count: number }>({ name: statementName('count-sessions', text), text, values })
  return rows[0]?.count ?? 0
}

/** Returns a page of Sessions by `updated_at` descending, on the index that gives the seconds in order. */
export async function listSessionIds(db: Queryable, filter: ListFilter, limit: number): Promise<readonly ListedRow[]> {
  const { rows: from, values, bind } = kept(filter)
  const text = `
    select s.id, s.updated_at from ${from}
    order by s.listed_at desc, s.updated_at desc, s.id desc limit ${bind(limit)}`
  const { rows } = await db.query<ListedRow>({ name: statementName('list-session-ids', text), text, values })
  return rows
}
