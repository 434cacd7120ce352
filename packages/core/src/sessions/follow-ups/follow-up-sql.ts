import type { FollowUpReason, FollowUpRequest } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { ClaimedRows } from '@berth/platform/storage/postgres/claimed-rows.ts'
import { type Queryable, queryRow, queryRows } from '@berth/platform/storage/postgres/database.ts'
import { announce, topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { FollowUpRow } from './follow-up.ts'

/** The `due_at` of a row that nothing is left to do for until somebody changes it. */
export const NEVER = 'infinity'

/**
 * Finds the newest follow-up of a pull request of a Session, on `follow_ups_in_order`: one that has not ended goes before
 * any other.
 */
export async function findFollowUp(db: Queryable, key: SessionKey, pullNumber: number): Promise<FollowUpRow | null> {
  return await queryRow<FollowUpRow>(db, {
    name: 'find-follow-up',
    text: `
      select * from follow_ups where organization_id = $1 and session_id = $2 and pull_number = $3
      order by ended_at is null desc, updated_at desc limit 1`,
    values: [key.organizationId, key.sessionId, pullNumber],
  })
}

/** A follow-up to begin or to resume, with the pull request that it is of. */
export interface BegunFollowUp {
  readonly publicationId: string
  readonly pull: { readonly number: number; readonly url: string; readonly title: string; readonly draft: boolean }
  readonly headSha: string
  readonly request: FollowUpRequest
  readonly by: { readonly kind: 'person' | 'app_installation'; readonly id: string }
  /** Network address of whoever asked; absent if they are gone. */
  readonly clientAddress?: string
}

const DAY_MS = 86_400_000

const valuesOf = (key: SessionKey, { request, by, ...begun }: BegunFollowUp, now: Date): unknown[] => [
  key.organizationId,
  key.sessionId,
  begun.publicationId,
  request.maxAttempts,
  request.budgetUsd ?? null,
  new Date(now.getTime() + request.days * DAY_MS),
  request.merge,
  request.on,
  by.kind,
  by.id,
  begun.headSha,
  now,
  request.people ?? null,
]

/** Inserts a follow-up, which watches at once. The caller holds the Session's lock, and has found none of the pull request. */
export async function insertFollowUp(
  tx: Queryable,
  key: SessionKey,
  begun: BegunFollowUp,
  now: Date,
): Promise<FollowUpRow> {
  const { number, url, title, draft } = begun.pull
  const { rows } = await tx.query<FollowUpRow>({
    text: `
      insert into follow_ups (organization_id, session_id, publication_id, max_attempts, budget_usd, until, merge, causes,
        started_by_kind, started_by_id, head_sha, created_at, updated_at, due_at, state, people,
        pull_number, pull_url, pull_title, pull_state)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $12, 'watching', coalesce($13::text[], '{}'),
        $14, $15, $16, $17) returning *`,
    values: [...valuesOf(key, begun, now), number, url, title, draft ? 'draft' : 'open'],
  })
  return one(rows)
}

/**
 * Gives a follow-up its new bounds. One that rests or was stopped begins a new round, in which nothing is counted yet.
 * Whoever holds its claim loses it. The caller holds the Session's lock.
 */
export async function replaceFollowUp(
  tx: Queryable,
  key: SessionKey,
  begun: BegunFollowUp,
  now: Date,
): Promise<FollowUpRow> {
  const rested = `state in ('needs_person', 'stopped')`
  const { rows } = await tx.query<FollowUpRow>({
    text: `
      update follow_ups set max_attempts = $4, budget_usd = $5, until = $6, merge = $7, causes = $8,
        started_by_kind = $9, started_by_id = $10, head_sha = $11, updated_at = $12, due_at = $12, failures = 0, people = coalesce($13::text[], people),
        cursor = null, claim = null, claimed_until = null,
        round = case when ${rested} then round + 1 else round end,
        attempts = case when ${rested} then 0 else attempts end,
        spent_usd = case when ${rested} then 0 else spent_usd end,
        marks = case when ${rested} then '{}' else marks end,
        seen = case when ${rested} then jsonb_path_query_array(seen, '$[*] ? (!(@ starts with "failure "))') else seen end,
        noted_at = case when ${rested} then null else noted_at end,
        turns = case when ${rested} and turns <> '[]'
          then jsonb_set(turns, array[(jsonb_array_length(turns) - 1)::text, 'settled'], 'true') else turns end,
        reason = null, ended_at = null, state = case when ${rested} then 'watching' else state end
      where organization_id = $1 and session_id = $2 and publication_id = $3 returning *`,
    values: valuesOf(key, begun, now),
  })
  return one(rows)
}

function one(rows: readonly FollowUpRow[]): FollowUpRow {
  const [row] = rows
  if (row === undefined) throw new Error('a follow-up is not there')
  return row
}

/**
 * The follow-ups that workers share, by the indexes `follow_ups_due` and `follow_ups_of_claim`. A claim takes the time
 * away, so news that come while somebody is at the row make it due again.
 */
export const claimedFollowUps = new ClaimedRows<FollowUpRow>({
  table: 'follow_ups',
  key: ['organization_id', 'session_id', 'publication_id'],
  due: '(r.due_at <= $1 or r.claim is not null)',
  order: 'r.due_at',
  also: `due_at = '${NEVER}'`,
})

/** A follow-up that this process has claimed. */
export interface FollowUpClaim extends SessionKey {
  readonly claim: string
  readonly row: FollowUpRow
}

/** Claims follow-ups that are due; any worker may. */
export async function claimFollowUps(
  db: Queryable,
  by: { readonly now: Date; readonly until: Date },
  limit: number,
): Promise<FollowUpClaim[]> {
  const rows = await claimedFollowUps.claim(db, by, limit)
  return rows.map(({ claim, ...row }) => ({
    organizationId: row.organization_id,
    sessionId: row.session_id,
    claim,
    row,
  }))
}

/** Columns that a step of the claim's holder writes. */
export type FollowUpColumns = Partial<
  Pick<
    FollowUpRow,
    | 'pull_state'
    | 'pull_title'
    | 'state'
    | 'reason'
    | 'awaits'
    | 'attempts'
    | 'spent_usd'
    | 'cursor'
    | 'noted_at'
    | 'failures'
    | 'ended_at'
    | 'marks'
    | 'turns'
    | 'seen'
    | 'head_sha'
    | 'updated_at'
  >
>

/**
 * Writes columns and gives the row back, to be taken up again at a time, or earlier if there were news meanwhile.
 * @returns null if the claim is lost, or somebody has changed the row meanwhile
 */
export async function releaseFollowUp(
  tx: Queryable,
  claim: string,
  { turns, seen, ...columns }: FollowUpColumns,
  dueAt: Date | typeof NEVER,
): Promise<FollowUpRow | null> {
  // The driver would send a list as an array of the database.
  const json = <T>(value: T) => JSON.stringify(value) as unknown as T
  const lists = { ...(turns !== undefined && { turns: json(turns) }), ...(seen !== undefined && { seen: json(seen) }) }
  await tx.query({ text: 'update follow_ups set due_at = least(due_at, $2) where claim = $1', values: [claim, dueAt] })
  return claimedFollowUps.release(tx, claim, { ...columns, ...lists })
}

/** Stops a Session's follow-ups that have not ended, of one pull request or of all. The caller holds the Session's lock. */
export async function stopFollowUps(
  tx: Queryable,
  key: SessionKey,
  { reason, pullNumber }: { readonly reason: FollowUpReason; readonly pullNumber: number | null },
  now: Date,
): Promise<FollowUpRow[]> {
  return await queryRows<FollowUpRow>(tx, {
    text: `
      update follow_ups set state = 'stopped', reason = $3, ended_at = $4, updated_at = $4, due_at = $4, failures = 0,
        claim = null, claimed_until = null
      where organization_id = $1 and session_id = $2 and ended_at is null
        and ($5::integer is null or pull_number = $5) returning *`,
    values: [key.organizationId, key.sessionId, reason, now, pullNumber],
  })
}

/** Notes the commit that a pull request has got from its Session. The caller holds the Session's lock. */
export async function noteHead(
  tx: Queryable,
  key: SessionKey,
  pull: { readonly number: number; readonly headSha: string },
  now: Date,
): Promise<void> {
  await tx.query({
    text: `
      update follow_ups set head_sha = $4, cursor = null, due_at = least(due_at, $5)
      where organization_id = $1 and session_id = $2 and pull_number = $3 and ended_at is null`,
    values: [key.organizationId, key.sessionId, pull.number, pull.headSha, now],
  })
}

/**
 * Makes workers ask the host at once about the pull requests of a repository that are followed, because of news of it.
 * Without it they wait for their next look.
 * @param at.provider kind of the host, as in `source.kind`
 */
export async function wakeFollowUps(
  db: Queryable,
  at: { readonly provider: string; readonly repositoryId: string },
  now: Date,
): Promise<void> {
  const { rowCount } = await db.query({
    text: `
      update follow_ups f set due_at = $3 from sessions s
      where f.ended_at is null and f.due_at > $3
        and (s.organization_id, s.id) = (f.organization_id, f.session_id)
        and s.source ->> 'kind' = $1 and s.source ->> 'repositoryId' = $2`,
    values: [at.provider, at.repositoryId, now],
  })
  if (rowCount > 0) await announce(db, topics.deliveries)
}

/** Makes workers look at once at the follow-ups of a Session, because something of it has ended. */
export async function wakeFollowUpsOf(tx: Queryable, key: SessionKey, now: Date): Promise<void> {
  const { rowCount } = await tx.query({
    text: `
      update follow_ups set due_at = $3
      where organization_id = $1 and session_id = $2 and ended_at is null and due_at > $3`,
    values: [key.organizationId, key.sessionId, now],
  })
  if (rowCount > 0) await announce(tx, topics.deliveries)
}
