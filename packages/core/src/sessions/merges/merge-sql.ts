import type { MergeError } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { ClaimedRows } from '@berth/platform/storage/postgres/claimed-rows.ts'
import {
  type Queryable,
  queryChanged,
  queryOne,
  queryRow,
  queryRows,
} from '@berth/platform/storage/postgres/database.ts'
import { announce, topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { MergeRow } from './merge.ts'

export interface MergeKey extends SessionKey {
  readonly publicationId: string
}

export async function findMerge(db: Queryable, key: MergeKey, id: string): Promise<MergeRow | null> {
  return await queryRow<MergeRow>(db, {
    name: 'find-merge',
    text: `
      select * from merges where organization_id = $1 and session_id = $2 and publication_id = $3 and id = $4`,
    values: [key.organizationId, key.sessionId, key.publicationId, id],
  })
}

/** Lists Merges before a cursor, newest first, on `merges_in_order`. */
export async function listMerges(
  db: Queryable,
  key: MergeKey,
  before: { readonly updatedAt: Date; readonly id: string } | null,
  limit: number,
): Promise<MergeRow[]> {
  return await queryRows<MergeRow>(db, {
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
}

export type NewMerge = Pick<
  MergeRow,
  'id' | 'request_hash' | 'strategy' | 'mode' | 'commit_title' | 'commit_message' | 'pull_number' | 'head_sha'
>

export async function insertMerge(tx: Queryable, key: MergeKey, row: NewMerge, now: Date): Promise<MergeRow> {
  return await queryOne<MergeRow>(tx, {
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
}

/** The Merges that workers share; the index of those that are due is `merges_due`. */
export const claimedMerges = new ClaimedRows<MergeRow>({
  table: 'merges',
  key: ['organization_id', 'session_id', 'publication_id', 'id'],
  due: 'r.ended_at is null and r.due_at <= $1',
  order: 'r.due_at',
})

/** A Merge that this process has claimed. */
export interface MergeClaim extends SessionKey {
  readonly claim: string
  readonly row: MergeRow
}

/** Claims Merges that are due; any worker may. */
export async function claimMerges(
  db: Queryable,
  by: { readonly now: Date; readonly until: Date },
  limit: number,
): Promise<MergeClaim[]> {
  const rows = await claimedMerges.claim(db, by, limit)
  return rows.map(row => ({
    organizationId: row.organization_id,
    sessionId: row.session_id,
    claim: row.claim,
    row,
  }))
}

/**
 * Counts one more attempt, before the host is asked; a waiting Merge keeps waiting. Returns false if the claim is lost.
 */
export async function countAttempt(db: Queryable, claim: string, now: Date): Promise<boolean> {
  return await queryChanged(db, {
    text: `
      update merges set attempts = attempts + 1, updated_at = $2,
        status = case when status = 'admitted' then 'attempted' else status end
      where claim = $1`,
    values: [claim, now],
  })
}

/** Records that the host is about to be asked to merge. Returns false if the claim is lost. */
export async function markMerging(db: Queryable, claim: string, now: Date): Promise<boolean> {
  return await queryChanged(db, {
    text: `
      update merges set status = 'attempted', error_code = null, updated_at = $2 where claim = $1`,
    values: [claim, now],
  })
}

/** Parks a Merge until its next check. */
export async function parkMerge(db: Queryable, claim: string, dueAt: Date, now: Date): Promise<void> {
  const waiting = { status: 'waiting', error_code: 'merge_not_ready', due_at: dueAt, failures: 0 } as const
  await claimedMerges.release(db, claim, { ...waiting, updated_at: now })
}

/**
 * Makes workers check at once the Merges that wait for a repository's pull requests, on `merges_due`, because of news that
 * may have made one ready. Without it they wait for their next check.
 * @param at.provider kind of the host, as in `source.kind`
 */
export async function wakeMerges(
  db: Queryable,
  at: { readonly provider: string; readonly repositoryId: string },
  now: Date,
): Promise<void> {
  const { rowCount } = await db.query({
    text: `
      update merges m set due_at = $3 from sessions s
      where m.ended_at is null and m.due_at > $3 and m.status = 'waiting'
        and (s.organization_id, s.id) = (m.organization_id, m.session_id)
        and s.source ->> 'kind' = $1 and s.source ->> 'repositoryId' = $2`,
    values: [at.provider, at.repositoryId, now],
  })
  if (rowCount > 0) await announce(db, topics.deliveries)
}

/** Makes workers check at once the Merges of a Session that wait. */
export async function wakeMergesOf(tx: Queryable, key: SessionKey, now: Date): Promise<void> {
  const { rowCount } = await tx.query({
    text: `
      update merges set due_at = $3
      where organization_id = $1 and session_id = $2 and ended_at is null and status = 'waiting' and due_at > $3`,
    values: [key.organizationId, key.sessionId, now],
  })
  if (rowCount > 0) await announce(tx, topics.deliveries)
}

/** Ends a Merge; null if the claim is lost. The caller holds the Session's lock. */
export function finishMerge(
  tx: Queryable,
  claim: string,
  outcome: { readonly commit: string } | { readonly errorCode: MergeError },
  now: Date,
): Promise<MergeRow | null> {
  const end =
    'commit' in outcome
      ? ({ status: 'succeeded', merged_commit_sha: outcome.commit, error_code: null } as const)
      : ({ status: 'failed', merged_commit_sha: null, error_code: outcome.errorCode } as const)
  return claimedMerges.release(tx, claim, { ...end, ended_at: now, updated_at: now })
}

/**
 * Fails the Session's Merges that no host has been asked for. The caller holds the Session's lock.
 * @param id of the only one; null for all
 */
export async function failUnattempted(
  tx: Queryable,
  key: SessionKey,
  errorCode: MergeError,
  now: Date,
  id: string | null = null,
): Promise<MergeRow[]> {
  return await queryRows<MergeRow>(tx, {
    text: `
      update merges
      set status = 'failed', error_code = $3, ended_at = $4, updated_at = $4, claim = null, claimed_until = null
      where organization_id = $1 and session_id = $2 and status in ('admitted', 'waiting')
        and ($5::uuid is null or id = $5) returning *`,
    values: [key.organizationId, key.sessionId, errorCode, now, id],
  })
}
