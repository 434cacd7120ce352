import type { ErrorCode } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { ClaimedRows } from '@berth/platform/storage/postgres/claimed-rows.ts'
import { type Queryable, queryRow, queryRows } from '@berth/platform/storage/postgres/database.ts'
import type { LeasePlace } from '../../hosts/hosts.ts'

export interface ReviewRow {
  readonly revision: string
  readonly base_oid: string
  readonly base_tree: string
  readonly head_tree: string
  readonly target_branch: string
  /** Objects that the base lacks; null if there are none. */
  readonly pack_sha256: string | null
  /** When its objects were given up: it can be read, and no longer be delivered. */
  readonly pack_dropped_at: Date | null
  readonly document_sha256: string
  /** The changed files with their unchanged lines; null until they are stored. */
  readonly files_sha256: string | null
  readonly created_at: Date
  /** Count of changed files. */
  readonly files: number
  readonly additions: number
  readonly deletions: number
}

export async function findReview(db: Queryable, key: SessionKey, revision: string): Promise<ReviewRow | null> {
  return await queryRow<ReviewRow>(db, {
    name: 'find-review',
    text: `
      select revision, base_oid, base_tree, head_tree, target_branch, pack_sha256, pack_dropped_at, document_sha256, files_sha256,
        created_at, files, additions, deletions
      from reviews where organization_id = $1 and session_id = $2 and revision = $3`,
    values: [key.organizationId, key.sessionId, revision],
  })
}

/** Returns a revision that can be delivered; null if there is none, or its objects were given up, so that it is to be made again. */
export async function findWholeReview(db: Queryable, key: SessionKey, revision: string): Promise<ReviewRow | null> {
  const row = await findReview(db, key, revision)
  return row?.pack_dropped_at === null ? row : null
}

/** A revision whose objects nothing needs: a later one of its Session exists, nothing tells of it, and nothing delivers it. */
const isSuperseded = `
  r.pack_sha256 is not null and r.created_at < $1
  and exists (
    select from reviews n
    where n.organization_id = r.organization_id and n.session_id = r.session_id and n.created_at > r.created_at)
  and not exists (
    select from review_requests q
    where q.organization_id = r.organization_id and q.session_id = r.session_id and r.revision in (q.revision, q.announced))
  and not exists (
    select from publications p
    where p.organization_id = r.organization_id and p.session_id = r.session_id and p.revision = r.revision)
  and not exists (
    select from verifications v
    where v.organization_id = r.organization_id and v.session_id = r.session_id and v.revision = r.revision
      and v.ended_at is null)`

/** Lists Sessions with objects of superseded revisions from before a time. */
export async function findSuperseded(db: Queryable, before: Date, most: number): Promise<SessionKey[]> {
  return await queryRows<SessionKey>(db, {
    text: `
      select distinct r.organization_id as "organizationId", r.session_id as "sessionId" from reviews r
      where ${isSuperseded} limit $2`,
    values: [before, most],
  })
}

/** Gives the objects of a Session's superseded revisions up. The caller holds the Session's lock, so none is being delivered. */
export async function dropPacks(tx: Queryable, key: SessionKey, before: Date, now: Date): Promise<number> {
  const { rowCount } = await tx.query({
    text: `
      update reviews r set pack_sha256 = null, pack_dropped_at = $4
      where r.organization_id = $2 and r.session_id = $3 and ${isSuperseded}`,
    values: [before, key.organizationId, key.sessionId, now],
  })
  return rowCount
}

/** Returns the newest revisions of a Session. */
export async function listReviews(
  db: Queryable,
  key: SessionKey,
  limit: number,
): Promise<readonly Pick<ReviewRow, 'revision' | 'created_at'>[]> {
  return await queryRows<Pick<ReviewRow, 'revision' | 'created_at'>>(db, {
    name: 'list-reviews',
    text: `
      select revision, created_at from reviews where organization_id = $1 and session_id = $2
      order by created_at desc, revision limit $3`,
    values: [key.organizationId, key.sessionId, limit],
  })
}

/** Inserts a revision once: the first row stays, with the blobs that it names, and gets the objects back that it gave up. */
export async function insertReview(tx: Queryable, key: SessionKey, row: ReviewRow): Promise<void> {
  await tx.query({
    text: `
      insert into reviews (organization_id, session_id, revision, base_oid, base_tree, head_tree, target_branch,
        pack_sha256, document_sha256, created_at, files, additions, deletions)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) 
      on conflict (organization_id, session_id, revision) do update
        set pack_sha256 = excluded.pack_sha256, pack_dropped_at = null where reviews.pack_dropped_at is not null`,
    values: [
      key.organizationId,
      key.sessionId,
      row.revision,
      row.base_oid,
      row.base_tree,
      row.head_tree,
      row.target_branch,
      row.pack_sha256,
      row.document_sha256,
      row.created_at,
      row.files,
      row.additions,
      row.deletions,
    ],
  })
}

/** Records where the changed files of a revision are. */
export async function setReviewFiles(
  db: Queryable,
  key: SessionKey,
  revision: string,
  filesSha256: string,
): Promise<void> {
  await db.query({
    text: `
      update reviews set files_sha256 = $4 where organization_id = $1 and session_id = $2 and revision = $3`,
    values: [key.organizationId, key.sessionId, revision, filesSha256],
  })
}

/** Returns the newest revision of a Session, and the newest that an Event told of. */
export async function readLastReviewed(
  db: Queryable,
  key: SessionKey,
): Promise<{ readonly revision: string | null; readonly announced: string | null }> {
  const { rows } = await db.query<{ revision: string | null; announced: string | null }>({
    name: 'read-last-reviewed',
    text: 'select revision, announced from review_requests where organization_id = $1 and session_id = $2',
    values: [key.organizationId, key.sessionId],
  })
  return rows[0] ?? { revision: null, announced: null }
}

/** Makes a revision the newest of its Session, of which an Event tells. Whoever has asked for one waits on. */
export async function setLastReviewed(tx: Queryable, key: SessionKey, revision: string): Promise<void> {
  await tx.query({
    name: 'set-last-reviewed',
    text: `
      insert into review_requests (organization_id, session_id, tickets, revision, announced) values ($1, $2, 0, $3, $3)
      on conflict (organization_id, session_id) do update set revision = $3, announced = $3`,
    values: [key.organizationId, key.sessionId, revision],
  })
}

/** Takes the next ticket; only a review that begins after this answers it. */
export async function askForReview(db: Queryable, key: SessionKey): Promise<number> {
  const { rows } = await db.query<{ tickets: number }>({
    name: 'ask-for-review',
    text: `
      insert into review_requests as r (organization_id, session_id, tickets) values ($1, $2, 1)
      on conflict (organization_id, session_id) do update set tickets = r.tickets + 1
      returning tickets`,
    values: [key.organizationId, key.sessionId],
  })
  return rows[0]?.tickets ?? 0
}

export interface ReviewAnswer {
  readonly answered: number
  readonly revision: string | null
  /** Error code for the callers who asked. */
  readonly failure: ErrorCode | null
  /** Details of the failure. */
  readonly message: string | null
}

export async function readAnswer(db: Queryable, key: SessionKey): Promise<ReviewAnswer | null> {
  return await queryRow<ReviewAnswer>(db, {
    name: 'read-review-answer',
    text: `
      select answered, revision, failure, failure_message as message from review_requests
      where organization_id = $1 and session_id = $2`,
    values: [key.organizationId, key.sessionId],
  })
}

interface ReviewRequestRow {
  readonly organization_id: string
  readonly session_id: string
  readonly tickets: number
  readonly answered: number
  readonly revision: string | null
  readonly failure: ErrorCode | null
  readonly failure_message: string | null
}

/**
 * The requests for reviews that workers share, on `review_requests_open`; only a process that holds
 * the host of the Session's sandbox can answer one. `$4` are the hosts of the process.
 */
export const claimedReviews = new ClaimedRows<ReviewRequestRow>({
  table: 'review_requests',
  key: ['organization_id', 'session_id'],
  due: 'r.answered < r.tickets',
  join: {
    clause: `
      join leases l on l.organization_id = r.organization_id and l.session_id = r.session_id
        and l.ended_at is null and l.state = 'attached' and l.host = any ($4)`,
    columns: { lease_id: 'l.id', host: 'l.host' },
  },
})

/** A request that this process has claimed, and the tickets that it answers. */
export interface ReviewClaim extends SessionKey {
  readonly claim: string
  readonly tickets: number
  readonly place: LeasePlace
}

/** Claims requests whose sandbox this process can reach. */
export async function claimReviews(
  db: Queryable,
  by: { readonly hosts: readonly string[]; readonly now: Date; readonly until: Date },
  limit: number,
): Promise<ReviewClaim[]> {
  const rows = await claimedReviews.claim<{ lease_id: string; host: string }>(db, by, limit, [by.hosts])
  return rows.map(row => ({
    organizationId: row.organization_id,
    sessionId: row.session_id,
    claim: row.claim,
    tickets: row.tickets,
    place: { leaseId: row.lease_id, host: row.host },
  }))
}

/** The reason why there is no review. */
export interface ReviewFailure {
  readonly failure: ErrorCode
  readonly message?: string
}

/** Answers every ticket of the claim; does nothing if the claim is lost. A failure leaves the newest revision in place. */
export async function answerReview(
  tx: Queryable,
  claim: ReviewClaim,
  answer: { readonly revision: string } | ReviewFailure,
): Promise<void> {
  const result =
    'revision' in answer
      ? { revision: answer.revision, failure: null, failure_message: null }
      : { failure: answer.failure, failure_message: answer.message ?? null }
  await claimedReviews.release(tx, claim.claim, { answered: claim.tickets, ...result })
}
