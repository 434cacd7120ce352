import type { ErrorCode } from '@berth/contract'
import type { SessionKey } from '../../kit/session-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'

export interface ReviewRow {
  readonly revision: string
  readonly base_oid: string
  readonly base_tree: string
  readonly head_tree: string
  readonly target_branch: string
  /** Objects that the base lacks; null where there are none. */
  readonly pack_sha256: string | null
  readonly document_sha256: string
  readonly created_at: Date
}

export async function findReview(db: Queryable, key: SessionKey, revision: string): Promise<ReviewRow | null> {
  const { rows } = await db.query<ReviewRow>({
    name: 'find-review',
    text: `
      select revision, base_oid, base_tree, head_tree, target_branch, pack_sha256, document_sha256, created_at
      from reviews where organization_id = $1 and session_id = $2 and revision = $3`,
    values: [key.organizationId, key.sessionId, revision],
  })
  return rows[0] ?? null
}

/** A revision is made once; the one that was there first stays, with the blobs it names. */
export async function insertReview(tx: Queryable, key: SessionKey, row: ReviewRow): Promise<void> {
  await tx.query({
    text: `
      insert into reviews (organization_id, session_id, revision, base_oid, base_tree, head_tree, target_branch,
        pack_sha256, document_sha256, created_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict do nothing`,
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
    ],
  })
}

/** Takes the next ticket: what answers it has begun to look after this. */
export async function askForReview(db: Queryable, key: SessionKey): Promise<number> {
  const { rows } = await db.query<{ asked: number }>({
    name: 'ask-for-review',
    text: `
      insert into review_requests as r (organization_id, session_id, asked) values ($1, $2, 1)
      on conflict (organization_id, session_id) do update set asked = r.asked + 1
      returning asked`,
    values: [key.organizationId, key.sessionId],
  })
  return rows[0]?.asked ?? 0
}

export interface ReviewAnswer {
  readonly answered: number
  readonly revision: string | null
  /** What those who asked are refused with. */
  readonly failure: ErrorCode | null
  /** What more there is to say of it. */
  readonly message: string | null
}

export async function readAnswer(db: Queryable, key: SessionKey): Promise<ReviewAnswer | null> {
  const { rows } = await db.query<ReviewAnswer>({
    name: 'read-review-answer',
    text: `
      select answered, revision, failure, failure_message as message from review_requests
      where organization_id = $1 and session_id = $2`,
    values: [key.organizationId, key.sessionId],
  })
  return rows[0] ?? null
}

/** A request in the hands of a worker, and the tickets that it answers. */
export interface ReviewClaim extends SessionKey {
  readonly claim: string
  readonly asked: number
  readonly leaseId: string
}

/**
 * Claims requests whose sandbox is on this host, on `review_requests_open`. One whose worker was lost is claimed again
 * once its claim has lapsed.
 */
export async function claimReviews(
  db: Queryable,
  by: { readonly host: string; readonly now: Date; readonly until: Date },
  limit: number,
): Promise<ReviewClaim[]> {
  const { rows } = await db.query<{
    organization_id: string
    session_id: string
    claim: string
    asked: number
    lease_id: string
  }>({
    name: 'claim-reviews',
    text: `
      update review_requests r set claim = gen_random_uuid(), claimed_until = $3
      from (
        select r.organization_id, r.session_id, l.id as lease_id from review_requests r
        join leases l on l.organization_id = r.organization_id and l.session_id = r.session_id
          and l.ended_at is null and l.state = 'attached' and l.host = $1
        where r.answered < r.asked and (r.claimed_until is null or r.claimed_until < $2)
        limit $4 for update of r skip locked
      ) next
      where (r.organization_id, r.session_id) = (next.organization_id, next.session_id)
      returning r.organization_id, r.session_id, r.claim, r.asked, next.lease_id`,
    values: [by.host, by.now, by.until, limit],
  })
  return rows.map(row => ({
    organizationId: row.organization_id,
    sessionId: row.session_id,
    claim: row.claim,
    asked: row.asked,
    leaseId: row.lease_id,
  }))
}

/** Why there is no review. */
export interface ReviewFailure {
  readonly failure: ErrorCode
  readonly message?: string
}

/** Answers every ticket of the claim; false where another has taken it over. */
export async function answerReview(
  tx: Queryable,
  claim: ReviewClaim,
  answer: { readonly revision: string } | ReviewFailure,
): Promise<boolean> {
  const { rowCount } = await tx.query({
    text: `
      update review_requests set answered = $4, revision = $5, failure = $6, failure_message = $7,
        claim = null, claimed_until = null
      where organization_id = $1 and session_id = $2 and claim = $3`,
    values: [
      claim.organizationId,
      claim.sessionId,
      claim.claim,
      claim.asked,
      'revision' in answer ? answer.revision : null,
      'failure' in answer ? answer.failure : null,
      'failure' in answer ? (answer.message ?? null) : null,
    ],
  })
  return rowCount > 0
}

/** Renews a claim while its review is made; false where another has taken it over. */
export async function renewReviewClaim(db: Queryable, claim: ReviewClaim, until: Date): Promise<boolean> {
  const { rowCount } = await db.query({
    text: 'update review_requests set claimed_until = $4 where organization_id = $1 and session_id = $2 and claim = $3',
    values: [claim.organizationId, claim.sessionId, claim.claim, until],
  })
  return rowCount > 0
}
