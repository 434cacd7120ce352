import type { PublicationError, PublicationResult } from '@berth/contract'
import type { SessionKey } from '../../kit/session-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import type { PublicationRow } from './publication.ts'

export async function findPublication(db: Queryable, key: SessionKey, id: string): Promise<PublicationRow | null> {
  const { rows } = await db.query<PublicationRow>({
    name: 'find-publication',
    text: 'select * from publications where organization_id = $1 and session_id = $2 and id = $3',
    values: [key.organizationId, key.sessionId, id],
  })
  return rows[0] ?? null
}

/** Publications before a place, newest first, on `publications_in_order`. */
export async function listPublications(
  db: Queryable,
  key: SessionKey,
  before: { readonly updatedAt: Date; readonly id: string } | null,
  limit: number,
): Promise<PublicationRow[]> {
  const { rows } = await db.query<PublicationRow>({
    name: 'list-publications',
    text: `
      select * from publications
      where organization_id = $1 and session_id = $2
        and ($3::timestamptz is null or (created_at, id) < ($3::timestamptz, $4::uuid))
      order by created_at desc, id desc limit $5`,
    values: [key.organizationId, key.sessionId, before?.updatedAt ?? null, before?.id ?? null, limit],
  })
  return rows
}

export type NewPublication = Pick<
  PublicationRow,
  'id' | 'request_hash' | 'revision' | 'title' | 'body' | 'delivery' | 'branch' | 'draft'
>

/**
 * Admits one as the Session's newest, whatever the clocks say: they are worked off in this order, one at a time. The
 * caller holds the Session's lock.
 */
export async function insertPublication(
  tx: Queryable,
  key: SessionKey,
  row: NewPublication,
  now: Date,
): Promise<PublicationRow> {
  const { rows } = await tx.query<PublicationRow>({
    text: `
      insert into publications (organization_id, session_id, id, request_hash, revision, title, body, delivery, branch,
        draft, status, due_at, created_at, updated_at)
      select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'admitted', $11, admitted.at, admitted.at
      from (
        select greatest($11, max(created_at) + interval '1 millisecond') as at
        from publications where organization_id = $1 and session_id = $2
      ) admitted
      returning *`,
    values: [
      key.organizationId,
      key.sessionId,
      row.id,
      row.request_hash,
      row.revision,
      row.title,
      row.body,
      row.delivery,
      row.branch,
      row.draft,
      now,
    ],
  })
  const [inserted] = rows
  if (inserted === undefined) throw new Error('an insert returned no row')
  return inserted
}

/** Whether one of the Session's has not ended, on `publications_open`. */
export async function hasOpenPublication(db: Queryable, key: SessionKey): Promise<boolean> {
  const { rows } = await db.query({
    name: 'has-open-publication',
    text: 'select 1 from publications where organization_id = $1 and session_id = $2 and completed_at is null limit 1',
    values: [key.organizationId, key.sessionId],
  })
  return rows.length > 0
}

/** A Publication in the hands of a worker. */
export interface PublicationClaim extends SessionKey {
  readonly claim: string
  readonly row: PublicationRow
  /** The sandbox of the Session, where it has one. */
  readonly leaseId: string | null
}

/**
 * Claims Publications that are due (`publications_due`): one at a time of each Session, in the order of their admission,
 * and those that are not prepared yet only where the Session's sandbox is, or where it has none.
 */
export async function claimPublications(
  db: Queryable,
  by: { readonly host: string; readonly now: Date; readonly until: Date },
  limit: number,
): Promise<PublicationClaim[]> {
  const { rows } = await db.query<PublicationRow & { organization_id: string; claim: string; lease_id: string | null }>(
    {
      name: 'claim-publications',
      text: `
      update publications p set claim = gen_random_uuid(), claimed_until = $3
      from (
        select p.organization_id, p.session_id, p.id, l.id as lease_id from publications p
        left join leases l on l.organization_id = p.organization_id and l.session_id = p.session_id
          and l.ended_at is null and l.state = 'attached'
        where p.completed_at is null and p.due_at <= $2 and (p.claimed_until is null or p.claimed_until < $2)
          and (p.status <> 'admitted' or l.id is null or l.host = $1)
          and not exists (
            select 1 from publications earlier
            where earlier.organization_id = p.organization_id and earlier.session_id = p.session_id
              and earlier.completed_at is null and (earlier.created_at, earlier.id) < (p.created_at, p.id))
        order by p.due_at limit $4 for update of p skip locked
      ) next
      where (p.organization_id, p.session_id, p.id) = (next.organization_id, next.session_id, next.id)
      returning p.*, next.lease_id`,
      values: [by.host, by.now, by.until, limit],
    },
  )
  return rows.map(({ claim, lease_id: leaseId, ...row }) => ({
    organizationId: row.organization_id,
    sessionId: row.session_id,
    claim,
    row,
    leaseId,
  }))
}

/** Renews a claim; false where another has taken it over, or the Publication has ended. */
export async function renewPublication(db: Queryable, claim: string, until: Date): Promise<boolean> {
  const { rowCount } = await db.query({
    text: 'update publications set claimed_until = $2 where claim = $1',
    values: [claim, until],
  })
  return rowCount > 0
}

const step = (set: string, from: string): string =>
  `update publications set ${set}, updated_at = $2 where claim = $1 and status = ${from} returning *`

async function take(db: Queryable, text: string, values: readonly unknown[]): Promise<PublicationRow | null> {
  const { rows } = await db.query<PublicationRow>({ text, values })
  return rows[0] ?? null
}

/** Settles what is to be pushed. Null where the claim is lost, here and below. */
export function markPrepared(
  db: Queryable,
  claim: string,
  commit: { readonly sha: string; readonly parent: string; readonly movesFrom: string | null },
  now: Date,
): Promise<PublicationRow | null> {
  const set = "status = 'prepared', commit_sha = $3, parent_oid = $4, moves_from = $5, failures = 0"
  return take(db, step(set, "'admitted'"), [claim, now, commit.sha, commit.parent, commit.movesFrom])
}

export function markAttempted(db: Queryable, claim: string, now: Date): Promise<PublicationRow | null> {
  return take(db, step("status = 'attempted', failures = 0", "'prepared'"), [claim, now])
}

export function markOpening(db: Queryable, claim: string, now: Date): Promise<PublicationRow | null> {
  return take(db, step('opening = true', "'attempted'"), [claim, now])
}

/** Ends a Publication. The caller holds the Session's lock. */
export function finishPublication(
  tx: Queryable,
  claim: string,
  outcome: { readonly result: PublicationResult } | { readonly errorCode: PublicationError },
  now: Date,
): Promise<PublicationRow | null> {
  const succeeded = 'result' in outcome
  const text = `
    update publications
    set status = $3, result = $4, error_code = $5, completed_at = $2, updated_at = $2, claim = null, claimed_until = null
    where claim = $1 and completed_at is null returning *`
  return take(tx, text, [
    claim,
    now,
    succeeded ? 'succeeded' : 'failed',
    succeeded ? outcome.result : null,
    succeeded ? null : outcome.errorCode,
  ])
}

/** Lets go of a Publication until it is due again. */
export async function deferPublication(db: Queryable, claim: string, dueAt: Date): Promise<void> {
  await db.query({
    text: `
      update publications set due_at = $2, failures = failures + 1, claim = null, claimed_until = null
      where claim = $1`,
    values: [claim, dueAt],
  })
}

/** Fails those of the Session that the host has not been asked for yet. The caller holds the Session's lock. */
export async function failUnattempted(
  tx: Queryable,
  key: SessionKey,
  errorCode: PublicationError,
  now: Date,
): Promise<PublicationRow[]> {
  const { rows } = await tx.query<PublicationRow>({
    text: `
      update publications
      set status = 'failed', error_code = $3, completed_at = $4, updated_at = $4, claim = null, claimed_until = null
      where organization_id = $1 and session_id = $2 and status in ('admitted', 'prepared') returning *`,
    values: [key.organizationId, key.sessionId, errorCode, now],
  })
  return rows
}

/** What the Session has pushed to a branch before: the newest commit first, with the tree in it. */
export async function listPushed(
  db: Queryable,
  key: SessionKey,
  branch: string,
): Promise<{ readonly commit_sha: string; readonly head_tree: string }[]> {
  const { rows } = await db.query<{ commit_sha: string; head_tree: string }>({
    text: `
      select p.commit_sha, r.head_tree from publications p join reviews r using (organization_id, session_id, revision)
      where p.organization_id = $1 and p.session_id = $2 and p.branch = $3 and p.commit_sha is not null
        and p.status in ('succeeded', 'failed')
      order by p.created_at desc, p.id desc limit 1000`,
    values: [key.organizationId, key.sessionId, branch],
  })
  return rows
}
