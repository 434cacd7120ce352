import type { Effort, Plan } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryAny, queryRow, queryRows } from '@berth/platform/storage/postgres/database.ts'
import { movedIn } from '@berth/platform/storage/postgres/moved-in.ts'
import { statementName } from '@berth/platform/storage/postgres/statement-name.ts'
import { continuationRun } from '../../checkpoints/continuation-run.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import type { SessionRow } from './session.ts'
import { statusColumns, statusJoins } from './status-sql.ts'

/**
 * Selects a Session's row with its active Run, its lease and, if it holds no lease, the checkpoint to continue from. A
 * held lease goes before any other. The joins rely on `runs_active` (at most one row) and `leases_of_session`. A lease
 * that was never attached shows no deadline.
 */
const selectFrom = (sessions: string): string => `
  select s.*, r.id as active_run_id, r.status as active_run_status,
    l.expires_at as lease_expires_at, coalesce(l.state = 'attached', false) as lease_held,
    l.idle_ms as lease_idle_ms, l.id as lease_id,
    coalesce(e.task = 'seal', false) as finalizing,
    c.run_id as checkpoint_run_id, c.runtime as checkpoint_runtime, c.conversation as checkpoint_conversation,
    c.damaged_at is not null as checkpoint_damaged, n.name as environment_name,
    b.limit_usd::float8 as budget_usd, b.spent_usd::float8 as budget_spent_usd,${statusColumns}
  from ${sessions} s
  left join runs r on r.organization_id = s.organization_id and r.session_id = s.id and r.ended_at is null
  left join lateral (
    select id, state, expires_at, idle_ms from leases
    where organization_id = s.organization_id and session_id = s.id
      and (state = 'attached' or (state = 'ended' and end_reason <> 'abandoned'))
    order by state = 'attached' desc, created_at desc limit 1
  ) l on true
  left join executions e on e.organization_id = s.organization_id and e.session_id = s.id
  left join lateral (${continuationRun('s')}) settled on s.first_run_started_at is not null and l.state is distinct from 'attached'
  left join checkpoints c
    on c.organization_id = s.organization_id and c.session_id = s.id and c.run_id = settled.id
  left join environments n on n.organization_id = s.organization_id and n.id = s.environment_id
  left join gateway_budgets b on b.organization_id = s.organization_id and b.session_id = s.id${statusJoins}`

/** Reads a Session without locking it. */
export async function findSession(db: Queryable, key: SessionKey): Promise<SessionRow | null> {
  return await queryRow<SessionRow>(db, {
    name: 'find-session',
    text: `${selectFrom('sessions')} where s.organization_id = $1 and s.id = $2`,
    values: [key.organizationId, key.sessionId],
  })
}

/** Reads Sessions of an organization, in no particular order; those that are not there are left out. */
export async function findSessions(
  db: Queryable,
  organizationId: string,
  ids: readonly string[],
): Promise<readonly SessionRow[]> {
  return await queryRows<SessionRow>(db, {
    name: 'find-sessions',
    text: `${selectFrom('sessions')} where s.organization_id = $1 and s.id = any($2::uuid[])`,
    values: [organizationId, ids],
  })
}

/**
 * Takes the Session's lock, under which every command decides, and reads the Session. The joins run in a second
 * statement: one statement that waited for the lock would join rows from before the wait.
 *
 * `no key update` excludes other commands but not the foreign-key checks of inserts. With `for update`, a first claim
 * would wait here for its `executions` row while it holds the Run that a cancellation under this lock waits for.
 */
export async function lockSession(tx: Queryable, key: SessionKey): Promise<SessionRow | null> {
  const locked = holdSession(tx, key)
  const [session] = await Promise.all([findSession(tx, key), locked])
  return session
}

/** Takes the same lock without reading the row. */
export async function holdSession(tx: Queryable, key: SessionKey): Promise<void> {
  await tx.query({
    name: 'lock-session',
    text: 'select 1 from sessions where organization_id = $1 and id = $2 for no key update',
    values: [key.organizationId, key.sessionId],
  })
}

/** What decides whether a sandbox is made for a Session, and how it is set up. */
export interface SessionBinding {
  readonly archived: boolean
  readonly environmentId: string | null
}

/** Reads the binding of a Session, which must exist. */
export async function readBinding(db: Queryable, key: SessionKey): Promise<SessionBinding> {
  const { rows } = await db.query<SessionBinding>({
    name: 'read-session-binding',
    text: `
      select archived_at is not null as archived, environment_id as "environmentId" from sessions
      where organization_id = $1 and id = $2`,
    values: [key.organizationId, key.sessionId],
  })
  const [row] = rows
  if (row === undefined) throw new Error(`there is no session ${key.sessionId}`)
  return row
}

/** Records the revision that was applied last, unless the Session was bound to another environment meanwhile. */
export async function markApplied(
  tx: Queryable,
  key: SessionKey,
  environmentId: string,
  revision: number,
): Promise<void> {
  await tx.query({
    name: 'mark-environment-applied',
    text: `
      update sessions set environment_revision = $4, ${movedIn}
      where organization_id = $1 and id = $2 and environment_id = $3`,
    values: [key.organizationId, key.sessionId, environmentId, revision],
  })
}

export interface NewSession {
  readonly key: SessionKey
  readonly owner: Pick<Principal, 'kind' | 'id'>
  readonly initiatedBy: string | null
  readonly requestHash: Buffer
  readonly title: string
  readonly titleIsDerived?: boolean
  readonly origin: object | null
  readonly source: object | null
  readonly model: string | null
  readonly effort: Effort | null
  readonly runtime: string | null
  readonly environmentId: string | null
  readonly isTrial?: boolean
  /** The trigger that makes it. */
  readonly triggerId?: string | null
  /** For a fork: its source, the recap of that conversation, and its plan. */
  readonly forkOf?: {
    readonly sessionId: string
    readonly runId: string
    readonly recap: string | null
    readonly plan: Plan | null
  }
  readonly now: Date
}

/**
 * Inserts a Session; returns false if its id is taken. A racing insert of the same id waits for the first to commit.
 */
export async function insertSession(tx: Queryable, session: NewSession): Promise<boolean> {
  return await queryAny(tx, {
    name: 'insert-session',
    text: `
      insert into sessions (organization_id, id, owner_kind, owner_id, request_hash, title, origin, model, runtime,
        created_at, updated_at, source, initiated_by, environment_id, is_trial, parent_session_id,
        parent_run_id, forked_recap, effort, plan, trigger_id, title_is_derived)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
      on conflict do nothing returning 1`,
    values: [
      session.key.organizationId,
      session.key.sessionId,
      session.owner.kind,
      session.owner.id,
      session.requestHash,
      session.title,
      session.origin,
      session.model,
      session.runtime,
      session.now,
      session.source,
      session.initiatedBy,
      session.environmentId,
      session.isTrial ?? false,
      session.forkOf?.sessionId ?? null,
      session.forkOf?.runId ?? null,
      session.forkOf?.recap ?? null,
      session.effort,
      session.forkOf?.plan ? JSON.stringify(session.forkOf.plan) : null,
      session.triggerId ?? null,
      session.titleIsDerived ?? false,
    ],
  })
}

/** True if a Session had this id and was purged. Ask after an insert: a purge that it waited for is then visible. */
export async function isPurged(tx: Queryable, key: SessionKey): Promise<boolean> {
  return await queryAny(tx, {
    name: 'find-purged-session',
    text: 'select 1 from purged_sessions where organization_id = $1 and id = $2',
    values: [key.organizationId, key.sessionId],
  })
}

export async function updateSession(
  tx: Queryable,
  key: SessionKey,
  set: Pick<NewSession, 'title' | 'model' | 'effort' | 'runtime' | 'environmentId'>,
  now: Date,
): Promise<void> {
  await tx.query({
    text: `
      update sessions set title = $3, title_is_derived = title_is_derived and title = $3, model = $4, runtime = $5, updated_at = greatest(updated_at, $6),
        environment_id = $7, effort = $8, ${movedIn},
        environment_revision = case when environment_id is not distinct from $7 then environment_revision end
      where organization_id = $1 and id = $2`,
    values: [key.organizationId, key.sessionId, set.title, set.model, set.runtime, now, set.environmentId, set.effort],
  })
}

/** Replaces a title that was made of the first message. A title that somebody has given stays. */
export async function saveAgentTitle(tx: Queryable, key: SessionKey, title: string): Promise<void> {
  await tx.query({
    name: 'save-agent-title',
    text: `
      update sessions set title = $3, title_is_derived = false, ${movedIn}
      where organization_id = $1 and id = $2 and title_is_derived`,
    values: [key.organizationId, key.sessionId, title],
  })
}

/** Lets the feed tell the Session again, after a change beside its row. */
export async function markChanged(tx: Queryable, key: SessionKey): Promise<void> {
  await tx.query({
    text: `update sessions set ${movedIn} where organization_id = $1 and id = $2`,
    values: [key.organizationId, key.sessionId],
  })
}

export async function markArchived(tx: Queryable, key: SessionKey, now: Date): Promise<void> {
  await tx.query({
    text: `
      update sessions set archived_at = $3, updated_at = greatest(updated_at, $3), ${movedIn}
      where organization_id = $1 and id = $2`,
    values: [key.organizationId, key.sessionId, now],
  })
}

/** Lists the Runs begun since the Session began, or was reset, oldest first. A Session has at most 1,000 Turns. */
export async function listBegunRuns(tx: Queryable, key: SessionKey): Promise<string[]> {
  const { rows } = await tx.query<{ id: string }>({
    text: `
      select r.id from sessions s
      join turns t on t.organization_id = s.organization_id and t.session_id = s.id and t.sequence >= s.fresh_from_turn
      join runs r on r.organization_id = t.organization_id and r.session_id = t.session_id and r.id = t.run_id
        and r.turn_id = t.id
      where s.organization_id = $1 and s.id = $2 and r.started_at is not null order by t.sequence`,
    values: [key.organizationId, key.sessionId],
  })
  return rows.map(({ id }) => id)
}

/** Makes the next Turn start afresh, as if no Run of the Session had begun. The caller holds its lock. */
export async function clearContinuation(tx: Queryable, key: SessionKey): Promise<void> {
  await tx.query({
    text: `
      update sessions set fresh_from_turn = turn_count, first_run_started_at = null, source_lost_at = null,
        plan = null, ${movedIn}
      where organization_id = $1 and id = $2`,
    values: [key.organizationId, key.sessionId],
  })
}

export interface SessionFilter {
  readonly organizationId: string
  /** Only Sessions of this owner; null for people, who see all of the organization's. */
  readonly ownerId: string | null
  readonly archived: 'no' | 'both' | 'only'
  readonly origin: Readonly<Record<'objectType' | 'objectId' | 'tenantKey', string | undefined>>
  /** Exclusive: the last row of the previous page. */
  readonly before: { readonly updatedAt: Date; readonly id: string } | null
  readonly limit: number
}

/** Returns the second under which a time is listed, as the generated column computes it. */
export const listedAt = (time: string): string => `date_trunc('second', ${time}::timestamptz at time zone 'UTC')`

/**
 * Returns a page by `updated_at` descending, on `sessions_of_owner` or `sessions_of_organization`. The index gives the
 * seconds in order; the database sorts only the rows within one second.
 */
export async function listSessions(db: Queryable, filter: SessionFilter): Promise<SessionRow[]> {
  const values: unknown[] = [filter.organizationId]
  const bind = (value: unknown) => `$${values.push(value)}`
  const conditions = ['organization_id = $1', 'not is_trial']
  if (filter.ownerId !== null) conditions.push(`owner_id = ${bind(filter.ownerId)}`)
  if (filter.archived === 'no') conditions.push('archived_at is null')
  if (filter.archived === 'only') conditions.push('archived_at is not null')
  for (const field of ['objectType', 'objectId', 'tenantKey'] as const) {
    const wanted = filter.origin[field]
    if (wanted !== undefined) conditions.push(`origin is not null and origin ->> '${field}' = ${bind(wanted)}`)
  }
  if (filter.before !== null) {
    const at = bind(filter.before.updatedAt)
    conditions.push(`listed_at <= ${listedAt(at)} and (updated_at, id) < (${at}, ${bind(filter.before.id)})`)
  }
  // Cut the page before the joins: a second may hold more Sessions than a page.
  const page = `(
    select * from sessions where ${conditions.join(' and ')}
    order by listed_at desc, updated_at desc, id desc limit ${bind(filter.limit)})`
  const text = `${selectFrom(page)} order by s.updated_at desc, s.id desc`
  const { rows } = await db.query<SessionRow>({ name: statementName('list-sessions', text), text, values })
  return rows
}
