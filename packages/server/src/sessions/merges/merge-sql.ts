import type { MergeError } from '@berth/contract'
import type { SessionKey } from '../../kit/session-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import type { MergeRow } from './merge.ts'

export interface MergeKey extends SessionKey {
  readonly publicationId: string
}

export async function findMerge(db: Queryable, key: MergeKey, id: string): Promise<MergeRow | null> {
  const { rows } = await db.query<MergeRow>({
    name: 'find-merge',
    text: `
      select * from merges where organization_id = $1 and session_id = $2 and publication_id = $3 and id = $4`,
    values: [key.organizationId, key.sessionId, key.publicationId, id],
  })
  return rows[0] ?? null
}

/** Merges before a place, newest first, on `merges_in_order`. */
export async function listMerges(
  db: Queryable,
  key: MergeKey,
  before: { readonly updatedAt: Date; readonly id: string } | null,
  limit: number,
): Promise<MergeRow[]> {
  const { rows } = await db.query<MergeRow>({
    name: 'list-merges',
    text: `
      select * from merges
      where organization_id = $1 and session_id = $2 and publication_id = $3
        and ($4::timestamptz is null or (created_at, id) < ($4::timestamptz, $5::uuid))
      order by created_at desc, id desc limit $6`,
    values: [
      key.organizationId,
      key.sessionId,
      key.publicationId,
      before?.updatedAt ?? null,
      before?.id ?? null,
      limit,
    ],
  })
  return rows
}

export type NewMerge = Pick<
  MergeRow,
  'id' | 'request_hash' | 'strategy' | 'mode' | 'commit_title' | 'commit_message' | 'pull_number' | 'head_sha'
>

export async function insertMerge(tx: Queryable, key: MergeKey, row: NewMerge, now: Date): Promise<MergeRow> {
  const { rows } = await tx.query<MergeRow>({
    text: `
      insert into merges (organization_id, session_id, publication_id, id, request_hash, strategy, mode, commit_title,
        commit_message, pull_number, head_sha, status, due_at, created_at, updated_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'admitted', $12, $12, $12) returning *`,
    values: [
      key.organizationId,
      key.sessionId,
      key.publicationId,
      row.id,
      row.request_hash,
      row.strategy,
      row.mode,
      row.commit_title,
      row.commit_message,
      row.pull_number,
      row.head_sha,
      now,
    ],
  })
  const [inserted] = rows
  if (inserted === undefined) throw new Error('an insert returned no row')
  return inserted
}

/** A Merge in the hands of a worker. */
export interface MergeClaim extends SessionKey {
  readonly claim: string
  readonly row: MergeRow
}

/** Claims Merges that are due (`merges_due`); any worker may. */
export async function claimMerges(
  db: Queryable,
  by: { readonly now: Date; readonly until: Date },
  limit: number,
): Promise<MergeClaim[]> {
  const { rows } = await db.query<MergeRow & { organization_id: string; claim: string }>({
    name: 'claim-merges',
    text: `
      update merges m set claim = gen_random_uuid(), claimed_until = $2
      from (
        select organization_id, session_id, publication_id, id from merges
        where completed_at is null and due_at <= $1 and (claimed_until is null or claimed_until < $1)
        order by due_at limit $3 for update skip locked
      ) next
      where (m.organization_id, m.session_id, m.publication_id, m.id)
        = (next.organization_id, next.session_id, next.publication_id, next.id)
      returning m.*`,
    values: [by.now, by.until, limit],
  })
  return rows.map(({ claim, ...row }) => ({
    organizationId: row.organization_id,
    sessionId: row.session_id,
    claim,
    row,
  }))
}

/** Renews a claim; false where another has taken it over, or the Merge has ended. */
export async function renewMerge(db: Queryable, claim: string, until: Date): Promise<boolean> {
  const { rowCount } = await db.query({
    text: 'update merges set claimed_until = $2 where claim = $1',
    values: [claim, until],
  })
  return rowCount > 0
}

/** Counts one more attempt, before the host is asked. A Merge that waits goes on waiting. False: the claim is lost. */
export async function countAttempt(db: Queryable, claim: string, now: Date): Promise<boolean> {
  const { rowCount } = await db.query({
    text: `
      update merges set attempts = attempts + 1, updated_at = $2,
        status = case when status = 'admitted' then 'attempted' else status end
      where claim = $1`,
    values: [claim, now],
  })
  return rowCount > 0
}

/** Records that the host is about to be asked to merge. False: the claim is lost. */
export async function markMerging(db: Queryable, claim: string, now: Date): Promise<boolean> {
  const { rowCount } = await db.query({
    text: `
      update merges set status = 'attempted', error_code = null, updated_at = $2 where claim = $1`,
    values: [claim, now],
  })
  return rowCount > 0
}

/** Parks a Merge until it is looked at again. */
export async function parkMerge(db: Queryable, claim: string, dueAt: Date, now: Date): Promise<void> {
  await db.query({
    text: `
      update merges set status = 'waiting', error_code = 'merge_not_ready', due_at = $2, updated_at = $3, failures = 0,
        claim = null, claimed_until = null
      where claim = $1`,
    values: [claim, dueAt, now],
  })
}

/** Makes those due that wait for a pull request of a repository, on `merges_due`: few Merges wait at a time. */
export async function makeWaitingDue(
  db: Queryable,
  at: { readonly provider: string; readonly repositoryId: string },
  now: Date,
): Promise<number> {
  const { rowCount } = await db.query({
    text: `
      update merges m set due_at = $3 from sessions s
      where m.completed_at is null and m.due_at > $3 and m.status = 'waiting'
        and (s.organization_id, s.id) = (m.organization_id, m.session_id)
        and s.source ->> 'kind' = $1 and s.source ->> 'repositoryId' = $2`,
    values: [at.provider, at.repositoryId, now],
  })
  return rowCount
}

/** Lets go of a Merge until it is due again. */
export async function deferMerge(db: Queryable, claim: string, dueAt: Date): Promise<void> {
  await db.query({
    text: `
      update merges set due_at = $2, failures = failures + 1, claim = null, claimed_until = null where claim = $1`,
    values: [claim, dueAt],
  })
}

/** Ends a Merge; null where the claim is lost. The caller holds the Session's lock. */
export async function finishMerge(
  tx: Queryable,
  claim: string,
  outcome: { readonly commit: string } | { readonly errorCode: MergeError },
  now: Date,
): Promise<MergeRow | null> {
  const succeeded = 'commit' in outcome
  const { rows } = await tx.query<MergeRow>({
    text: `
      update merges
      set status = $3, merged_commit_sha = $4, error_code = $5, completed_at = $2, updated_at = $2, claim = null,
        claimed_until = null
      where claim = $1 and completed_at is null returning *`,
    values: [
      claim,
      now,
      succeeded ? 'succeeded' : 'failed',
      succeeded ? outcome.commit : null,
      succeeded ? null : outcome.errorCode,
    ],
  })
  return rows[0] ?? null
}

/** Fails those of the Session that the host has not been asked for. The caller holds the Session's lock. */
export async function failUnattempted(
  tx: Queryable,
  key: SessionKey,
  errorCode: MergeError,
  now: Date,
): Promise<MergeRow[]> {
  const { rows } = await tx.query<MergeRow>({
    text: `
      update merges
      set status = 'failed', error_code = $3, completed_at = $4, updated_at = $4, claim = null, claimed_until = null
      where organization_id = $1 and session_id = $2 and status in ('admitted', 'waiting') returning *`,
    values: [key.organizationId, key.sessionId, errorCode, now],
  })
  return rows
}
