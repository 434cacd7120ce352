import type { CheckResult } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryRow, queryRows } from '@berth/platform/storage/postgres/database.ts'
import type { VerificationRow } from './verification.ts'

async function first(db: Queryable, text: string, values: readonly unknown[]): Promise<VerificationRow | null> {
  const { rows } = await db.query<VerificationRow>({ text, values })
  return rows[0] ?? null
}

export function findVerification(db: Queryable, key: SessionKey, id: string): Promise<VerificationRow | null> {
  return first(db, 'select * from verifications where organization_id = $1 and session_id = $2 and id = $3', [
    key.organizationId,
    key.sessionId,
    id,
  ])
}

/** Returns the verification for which a hidden Session was made, on `verifications_of_sandbox`. */
export function findVerificationOfSandbox(db: Queryable, sandbox: SessionKey): Promise<VerificationRow | null> {
  return first(db, 'select * from verifications where organization_id = $1 and sandbox_id = $2', [
    sandbox.organizationId,
    sandbox.sessionId,
  ])
}

/** Lists verifications before a cursor, newest first, on `verifications_in_order`. */
export async function listVerifications(
  db: Queryable,
  key: SessionKey,
  before: { readonly updatedAt: Date; readonly id: string } | null,
  limit: number,
): Promise<VerificationRow[]> {
  return await queryRows<VerificationRow>(db, {
    text: `
      select * from verifications
      where organization_id = $1 and session_id = $2
        and ($3::timestamptz is null or (created_at, id) < ($3::timestamptz, $4::uuid))
      order by created_at desc, id desc limit $5`,
    values: [key.organizationId, key.sessionId, before?.updatedAt ?? null, before?.id ?? null, limit],
  })
}

type Checked = Pick<VerificationRow, 'tree' | 'environment_id' | 'environment_revision' | 'checks_digest'>

/** Returns the newest verification that has checked the same, and came to a result. */
export function findSameVerification(db: Queryable, key: SessionKey, of: Checked): Promise<VerificationRow | null> {
  return first(
    db,
    `select * from verifications
     where organization_id = $1 and session_id = $2 and tree = $3 and environment_id = $4 and environment_revision = $5
       and checks_digest = $6 and state in ('passed', 'failed')
     order by ended_at desc, created_at desc limit 1`,
    [key.organizationId, key.sessionId, of.tree, of.environment_id, of.environment_revision, of.checks_digest],
  )
}

/** Returns the newest verification of a revision that came to a result by one revision of an environment. */
export function findResultOf(
  db: Queryable,
  key: SessionKey,
  of: Pick<VerificationRow, 'revision' | 'environment_id' | 'environment_revision'>,
): Promise<VerificationRow | null> {
  return first(
    db,
    `select * from verifications
     where organization_id = $1 and session_id = $2 and revision = $3 and environment_id = $4
       and environment_revision = $5 and state in ('passed', 'failed')
     order by ended_at desc, created_at desc limit 1`,
    [key.organizationId, key.sessionId, of.revision, of.environment_id, of.environment_revision],
  )
}

/** Returns the newest verification of a revision that came to a result, by whichever checks. */
export function findNewestResult(db: Queryable, key: SessionKey, revision: string): Promise<VerificationRow | null> {
  return first(
    db,
    `select * from verifications
     where organization_id = $1 and session_id = $2 and revision = $3 and state in ('passed', 'failed')
     order by ended_at desc, created_at desc limit 1`,
    [key.organizationId, key.sessionId, revision],
  )
}

/** Lists the revisions of verifications that have not ended, on `verifications_open`. */
export async function listOpenRevisions(db: Queryable, key: SessionKey): Promise<readonly string[]> {
  const { rows } = await db.query<{ revision: string }>({
    text: 'select revision from verifications where organization_id = $1 and session_id = $2 and ended_at is null',
    values: [key.organizationId, key.sessionId],
  })
  return rows.map(({ revision }) => revision)
}

/** Counts the organization's verifications that have not ended, on `verifications_open`. */
export async function countOpenVerifications(db: Queryable, organizationId: string): Promise<number> {
  const { rows } = await db.query<{ count: number }>({
    text: 'select count(*)::int as count from verifications where organization_id = $1 and ended_at is null',
    values: [organizationId],
  })
  return rows[0]?.count ?? 0
}

/**
 * Lists verifications that are queued since before a time, or run since before another, on `verifications_open`: those of
 * all organizations, of which few are open at once.
 */
export async function listOverdue(
  db: Queryable,
  since: { readonly queued: Date; readonly running: Date },
  limit: number,
): Promise<VerificationRow[]> {
  return await queryRows<VerificationRow>(db, {
    text: `
      select * from verifications
      where ended_at is null and (state = 'queued' and created_at <= $1 or started_at <= $2)
      order by created_at limit $3`,
    values: [since.queued, since.running, limit],
  })
}

/** Inserts a verification as the Session's newest, whatever the clocks say. The caller holds the Session's lock. */
export async function insertVerification(
  tx: Queryable,
  row: Omit<VerificationRow, 'error' | 'lease_id'>,
): Promise<VerificationRow> {
  const inserted = await first(
    tx,
    `insert into verifications (organization_id, session_id, id, request_hash, revision, tree, environment_id,
       environment_revision, checks_digest, state, results, reused_from, sandbox_id, requested_by_kind, requested_by_id,
       created_at, started_at, ended_at)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
       greatest($16, max(created_at) + interval '1 millisecond'), $17, $18
     from verifications where organization_id = $1 and session_id = $2
     returning *`,
    [
      row.organization_id,
      row.session_id,
      row.id,
      row.request_hash,
      row.revision,
      row.tree,
      row.environment_id,
      row.environment_revision,
      row.checks_digest,
      row.state,
      JSON.stringify(row.results),
      row.reused_from,
      row.sandbox_id,
      row.requested_by_kind,
      row.requested_by_id,
      row.created_at,
      row.started_at,
      row.ended_at,
    ],
  )
  if (inserted === null) throw new Error('an insert returned no row')
  return inserted
}

/**
 * Records that a sandbox stands in which checks are to run; another than before begins without results.
 * @returns null if the verification has ended, with whether it had begun before
 */
export async function markRunning(
  tx: Queryable,
  { organization_id, session_id, id }: VerificationRow,
  by: Pick<VerificationRow, 'environment_revision' | 'checks_digest' | 'lease_id' | 'results'>,
  now: Date,
): Promise<(VerificationRow & { readonly had_begun: boolean }) | null> {
  return await queryRow<VerificationRow & { readonly had_begun: boolean }>(tx, {
    text: `
      with before as (
        select state from verifications where organization_id = $1 and session_id = $2 and id = $3 for update
      )
      update verifications v
      set state = 'running', environment_revision = $4, checks_digest = $5, lease_id = $6,
        results = case when lease_id = $6 then results else $7::jsonb end, started_at = coalesce(started_at, $8)
      from before where organization_id = $1 and session_id = $2 and id = $3 and ended_at is null
      returning v.*, before.state = 'running' as had_begun`,
    values: [
      organization_id,
      session_id,
      id,
      by.environment_revision,
      by.checks_digest,
      by.lease_id,
      JSON.stringify(by.results),
      now,
    ],
  })
}

/** Records how a check goes. */
export async function recordCheck(
  tx: Queryable,
  { organization_id, session_id, id }: VerificationRow,
  index: number,
  result: CheckResult,
): Promise<void> {
  await tx.query({
    text: `
      update verifications set results = jsonb_set(results, array[$4::text], $5::jsonb)
      where organization_id = $1 and session_id = $2 and id = $3 and state = 'running'`,
    values: [organization_id, session_id, id, index, JSON.stringify(result)],
  })
}

/** Ends a verification. @returns null if it has ended already */
export function finishVerification(
  tx: Queryable,
  { organization_id, session_id, id }: VerificationRow,
  end: Pick<VerificationRow, 'state' | 'error'>,
  now: Date,
): Promise<VerificationRow | null> {
  return first(
    tx,
    `update verifications set state = $4, error = $5, ended_at = $6
     where organization_id = $1 and session_id = $2 and id = $3 and ended_at is null returning *`,
    [organization_id, session_id, id, end.state, end.error == null ? null : JSON.stringify(end.error), now],
  )
}

/** Cancels the verifications of a Session that have not ended; with an id, that one alone. */
export async function cancelOpen(
  tx: Queryable,
  key: SessionKey,
  id: string | null,
  now: Date,
): Promise<readonly VerificationRow[]> {
  return await queryRows<VerificationRow>(tx, {
    text: `
      update verifications set state = 'cancelled', ended_at = $3
      where organization_id = $1 and session_id = $2 and ended_at is null and ($4::uuid is null or id = $4)
      returning *`,
    values: [key.organizationId, key.sessionId, now, id],
  })
}

/** Returns what the newest apply in a hidden Session's log says of its failure. */
export async function findApplyFailure(tx: Queryable, sandbox: SessionKey): Promise<VerificationRow['error']> {
  const { rows } = await tx.query<NonNullable<VerificationRow['error']>>({
    text: `
      select data ->> 'errorCode' as code, data ->> 'outputTail' as "outputTail" from (
        select envelope::jsonb -> 'data' as data from events
        where organization_id = $1 and session_id = $2 and type = 'svc.environment.apply'
        order by sequence desc limit 1
      ) newest where data ->> 'status' = 'failed'`,
    values: [sandbox.organizationId, sandbox.sessionId],
  })
  const [found] = rows
  if (found === undefined) return { code: 'sandbox_unavailable' }
  return { code: found.code, ...(found.outputTail != null && { outputTail: found.outputTail }) }
}
