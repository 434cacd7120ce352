import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryRows } from '@berth/platform/storage/postgres/database.ts'

/**
 * The tables that hold a Session's rows besides `events`, `event_pages` and `webhook_deliveries`, those that refer to another one
 * first. What the gateway booked and what was entry stays: it belongs to the organization.
 */
export const tablesOfSession = [
  'artifacts',
  'checkpoints',
  'merges',
  'follow_ups',
  'publications',
  'verifications',
  'reviews',
  'review_requests',
  'interactions',
  'gateway_budgets',
  'terminals',
  'previews',
  'file_requests',
  'session_previews',
  'viewed_files',
  'push_deliveries',
  'session_marks',
  'session_secrets',
  'session_tokens',
  'remembered_decisions',
  'session_egress',
  'secret_uses',
  'runtime_credentials',
  'next_turns',
  'workspace_requests',
  'environment_trials',
  'executions',
  'leases',
  'turns',
  'runs',
] as const

/** True for a Session in which nothing is under way any more: no sandbox, no claim and no delivery. */
export const isAtRest = `
  not exists (
    select from leases l
    where l.organization_id = s.organization_id and l.session_id = s.id and l.ended_at is null)
  and not exists (
    select from executions e
    where e.organization_id = s.organization_id and e.session_id = s.id and e.task is not null)
  and not exists (
    select from publications p
    where p.organization_id = s.organization_id and p.session_id = s.id and p.ended_at is null)
  and not exists (
    select from merges m
    where m.organization_id = s.organization_id and m.session_id = s.id and m.ended_at is null)`

/** Returns Sessions that were archived before a time and are at rest, the oldest first. */
export async function findPurgeable(db: Queryable, before: Date, most: number): Promise<SessionKey[]> {
  return await queryRows<SessionKey>(db, {
    text: `
      select s.organization_id as "organizationId", s.id as "sessionId" from sessions s
      where s.archived_at < $1 and ${isAtRest}
      order by s.archived_at limit $2`,
    values: [before, most],
  })
}

/** Returns the hidden Sessions, of trials and verifications, that ended before a time and are at rest, on `sessions_of_trials`. */
export async function findPurgeableTrials(db: Queryable, before: Date, most: number): Promise<SessionKey[]> {
  return await queryRows<SessionKey>(db, {
    text: `
      select s.organization_id as "organizationId", s.id as "sessionId" from sessions s
      where s.is_trial and s.archived_at < $1 and ${isAtRest}
      order by s.archived_at limit $2`,
    values: [before, most],
  })
}

/** Locks a Session that may be purged. @returns when it was archived; null if it may not be purged any more */
export async function lockPurgeable(tx: Queryable, key: SessionKey, before: Date): Promise<Date | null> {
  const { rows } = await tx.query<{ archived_at: Date }>({
    text: `
      select s.archived_at from sessions s
      where s.organization_id = $1 and s.id = $2 and s.archived_at < $3 and ${isAtRest}
      for update`,
    values: [key.organizationId, key.sessionId, before],
  })
  return rows[0]?.archived_at ?? null
}

/**
 * Deletes every row of a locked Session and keeps its id.
 * @returns the numbers of Events and Runs that it had
 */
export async function deleteSession(
  tx: Queryable,
  { organizationId, sessionId }: SessionKey,
  now: Date,
): Promise<{ readonly events: number; readonly runs: number }> {
  const values = [organizationId, sessionId]
  // By endpoint, because the index of deliveries begins with it.
  await tx.query({
    text: `
      delete from webhook_deliveries d using webhook_endpoints w, installations i
      where i.organization_id = $1 and w.installation_id = i.id and d.endpoint_id = w.id and d.session_id = $2
        and d.organization_id = $1`,
    values,
  })
  const { rows } = await tx.query<{ purged: string }>({ text: 'select purge_events($1, $2) as purged', values })
  let runs = 0
  for (const table of tablesOfSession) {
    const { rowCount } = await tx.query({
      text: `delete from ${table} where organization_id = $1 and session_id = $2`,
      values,
    })
    if (table === 'runs') runs = rowCount
  }
  await tx.query({ text: 'delete from sessions where organization_id = $1 and id = $2', values })
  await tx.query({
    text: 'insert into purged_sessions (organization_id, id, purged_at) values ($1, $2, $3)',
    values: [organizationId, sessionId, now],
  })
  return { events: Number(rows[0]?.purged ?? 0), runs }
}
