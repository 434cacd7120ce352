import type { PublicationError, PublicationResult } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { ClaimedRows } from '@berth/platform/storage/postgres/claimed-rows.ts'
import { type Queryable, queryAny, queryOne, queryRow, queryRows } from '@berth/platform/storage/postgres/database.ts'
import type { LeasePlace } from '../../hosts/hosts.ts'
import type { Obstacle, Prepared, PublicationRow } from './publication.ts'

export async function findPublication(db: Queryable, key: SessionKey, id: string): Promise<PublicationRow | null> {
  return await queryRow<PublicationRow>(db, {
    name: 'find-publication',
    text: 'select * from publications where organization_id = $1 and session_id = $2 and id = $3',
    values: [key.organizationId, key.sessionId, id],
  })
}

/** Lists Publications before a cursor, newest first, on `publications_in_order`. */
export async function listPublications(
  db: Queryable,
  key: SessionKey,
  before: { readonly updatedAt: Date; readonly id: string } | null,
  limit: number,
): Promise<PublicationRow[]> {
  return await queryRows<PublicationRow>(db, {
    name: 'list-publications',
    text: `
      select * from publications
      where organization_id = $1 and session_id = $2
        and ($3::timestamptz is null or (created_at, id) < ($3::timestamptz, $4::uuid))
      order by created_at desc, id desc limit $5`,
    values: [key.organizationId, key.sessionId, before?.updatedAt ?? null, before?.id ?? null, limit],
  })
}

export type NewPublication = Pick<
  PublicationRow,
  | 'id'
  | 'request_hash'
  | 'revision'
  | 'title'
  | 'body'
  | 'delivery'
  | 'branch'
  | 'draft'
  | 'author'
  | 'requested_by_kind'
  | 'requested_by_id'
  | 'verification_id'
  | 'follow_up'
>

/**
 * Admits a Publication as the Session's newest, whatever the clocks say: workers deliver them in this order, one at a
 * time. The caller holds the Session's lock.
 */
export async function insertPublication(
  tx: Queryable,
  key: SessionKey,
  row: NewPublication,
  now: Date,
): Promise<PublicationRow> {
  return await queryOne<PublicationRow>(tx, {
    text: `
      insert into publications (organization_id, session_id, id, request_hash, revision, title, body, delivery, branch,
        draft, status, due_at, created_at, updated_at, author, requested_by_kind, requested_by_id, verification_id,
        follow_up)
      select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'admitted', $11, admitted.at, admitted.at, $12, $13, $14, $15, $16
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
      row.author === null ? null : JSON.stringify(row.author),
      row.requested_by_kind,
      row.requested_by_id,
      row.verification_id,
      row.follow_up === null ? null : JSON.stringify(row.follow_up),
    ],
  })
}

/** Returns true if a Publication of the Session has not ended, on `publications_open`. */
export async function hasOpenPublication(db: Queryable, key: SessionKey): Promise<boolean> {
  return await queryAny(db, {
    name: 'has-open-publication',
    text: 'select 1 from publications where organization_id = $1 and session_id = $2 and ended_at is null limit 1',
    values: [key.organizationId, key.sessionId],
  })
}

/**
 * Returns true if a Session has published a pull request of a local repository, on `publications_of_pull`.
 * @param ownerId only Sessions of this owner; null for people, who see all of the organization's
 */
export async function hasPublishedPull(
  db: Queryable,
  organizationId: string,
  ownerId: string | null,
  { repositoryId, number }: { readonly repositoryId: string; readonly number: string },
): Promise<boolean> {
  return await queryAny(db, {
    name: 'has-published-pull',
    text: `
      select 1 from publications p join sessions s on s.organization_id = p.organization_id and s.id = p.session_id
      where p.organization_id = $1 and p.result is not null and p.result -> 'pullRequest' ->> 'number' = $4
        and s.source ->> 'kind' = 'local' and s.source ->> 'repositoryId' = $3
        and ($2::uuid is null or s.owner_id = $2) limit 1`,
    values: [organizationId, ownerId, repositoryId, number],
  })
}

/**
 * The Publications that workers share, by the index `publications_due`. Of each Session one at a time is claimed, in the order of their admission. One that
 * is not prepared yet is claimed only by a process that holds the host of the Session's sandbox, or by any process if there
 * is none. `$4` are the hosts of the process.
 */
export const claimedPublications = new ClaimedRows<PublicationRow>({
  table: 'publications',
  key: ['organization_id', 'session_id', 'id'],
  order: 'r.due_at',
  due: `
    r.ended_at is null and r.due_at <= $1
    and (r.status <> 'admitted' or l.id is null or l.host = any ($4))
    and not exists (
      select 1 from publications earlier
      where earlier.organization_id = r.organization_id and earlier.session_id = r.session_id
        and earlier.ended_at is null and (earlier.created_at, earlier.id) < (r.created_at, r.id))`,
  join: {
    clause: `
      left join leases l on l.organization_id = r.organization_id and l.session_id = r.session_id
        and l.ended_at is null and l.state = 'attached'`,
    columns: { lease_id: 'l.id', host: 'l.host' },
  },
})

/** A Publication that this process has claimed. */
export interface PublicationClaim extends SessionKey {
  readonly claim: string
  readonly row: PublicationRow
  /** The sandbox of the Session, if it has one. */
  readonly place: LeasePlace | null
}

/** Claims Publications that are due and that this process can continue. */
export async function claimPublications(
  db: Queryable,
  by: { readonly hosts: readonly string[]; readonly now: Date; readonly until: Date },
  limit: number,
): Promise<PublicationClaim[]> {
  const rows = await claimedPublications.claim<{ lease_id: string | null; host: string | null }>(db, by, limit, [
    by.hosts,
  ])
  return rows.map(({ claim, lease_id, host, ...row }) => ({
    organizationId: row.organization_id,
    sessionId: row.session_id,
    claim,
    row,
    place: lease_id === null || host === null ? null : { leaseId: lease_id, host },
  }))
}

const step = (set: string, from: string): string =>
  `update publications set ${set}, updated_at = $2 where claim = $1 and status = ${from} returning *`

async function take(db: Queryable, text: string, values: readonly unknown[]): Promise<PublicationRow | null> {
  const { rows } = await db.query<PublicationRow>({ text, values })
  return rows[0] ?? null
}

/** Records the commit to push. Returns null if the claim is lost, as do the functions below. */
export function markPrepared(
  db: Queryable,
  claim: string,
  commit: Prepared,
  now: Date,
): Promise<PublicationRow | null> {
  const { branch, sha, text, parent, movesFrom } = commit
  const set = `
    status = 'prepared', commit_sha = $3, commit_object = $4, parent_oid = $5, moves_from = $6, branch = $7, failures = 0`
  return take(db, step(set, "'admitted'"), [claim, now, sha, text, parent, movesFrom, branch])
}

/** Records the commit that the host has made. */
export function markMade(
  db: Queryable,
  claim: string,
  commit: { readonly sha: string; readonly text: string },
  now: Date,
): Promise<PublicationRow | null> {
  const set = 'commit_sha = $3, commit_object = $4, failures = 0'
  return take(db, step(set, "'attempted'"), [claim, now, commit.sha, commit.text])
}

export function markAttempted(db: Queryable, claim: string, now: Date): Promise<PublicationRow | null> {
  return take(db, step("status = 'attempted', failures = 0", "'prepared'"), [claim, now])
}

export function markOpening(db: Queryable, claim: string, now: Date): Promise<PublicationRow | null> {
  return take(db, step('opening = true', "'attempted'"), [claim, now])
}

/** Columns that nothing needs after the end, and that hold a person's email. */
const forgotten = { author: null, commit_object: null } as const

/** Ends a Publication. The caller holds the Session's lock, and has kept the statement on its commit if there is one. */
export function finishPublication(
  tx: Queryable,
  claim: string,
  outcome:
    | { readonly result: PublicationResult }
    | { readonly errorCode: PublicationError; readonly obstacle?: Obstacle | null },
  statementId: string | null,
  now: Date,
): Promise<PublicationRow | null> {
  const end =
    'result' in outcome
      ? ({ status: 'succeeded', result: outcome.result, error_code: null, statement_id: statementId } as const)
      : ({ status: 'failed', result: null, error_code: outcome.errorCode, obstacle: outcome.obstacle ?? null } as const)
  return claimedPublications.release(tx, claim, { ...end, ...forgotten, ended_at: now, updated_at: now })
}

/**
 * Lists the newest Publications that carry a statement on a commit, on `publications_of_commit`.
 * @param ownerId only of Sessions of this owner; null for people, who see all of the organization's
 */
export async function listSigned(
  db: Queryable,
  organizationId: string,
  ownerId: string | null,
  commit: string,
): Promise<PublicationRow[]> {
  return await queryRows<PublicationRow>(db, {
    text: `
      select p.* from publications p join sessions s on s.organization_id = p.organization_id and s.id = p.session_id
      where p.organization_id = $1 and p.commit_sha = $3 and p.statement_id is not null
        and ($2::uuid is null or s.owner_id = $2)
      order by p.ended_at desc, p.id desc limit 10`,
    values: [organizationId, ownerId, commit],
  })
}

/**
 * Fails the Session's Publications that no host has been asked for yet. The caller holds the Session's lock.
 * @param id of the only one; null for all
 */
export async function failUnattempted(
  tx: Queryable,
  key: SessionKey,
  errorCode: PublicationError,
  now: Date,
  id: string | null = null,
): Promise<PublicationRow[]> {
  return await queryRows<PublicationRow>(tx, {
    text: `
      update publications
      set status = 'failed', error_code = $3, ended_at = $4, updated_at = $4, claim = null, claimed_until = null,
        author = null, commit_object = null
      where organization_id = $1 and session_id = $2 and status in ('admitted', 'prepared')
        and ($5::uuid is null or id = $5)
      returning *`,
    values: [key.organizationId, key.sessionId, errorCode, now, id],
  })
}

/** A commit of a Publication that has ended. */
export interface PushedCommit {
  readonly commit_sha: string
  /** A commit of the base that its history holds, and none newer. */
  readonly base_oid: string
  readonly head_tree: string
  readonly status: 'succeeded' | 'failed'
}

/** Lists the commits that the Session has pushed to a branch, or tried to, newest first, with their trees. */
export async function listPushed(db: Queryable, key: SessionKey, branch: string): Promise<PushedCommit[]> {
  return await queryRows<PushedCommit>(db, {
    text: `
      select p.commit_sha, r.base_oid, r.head_tree, p.status from publications p join reviews r using (organization_id, session_id, revision)
      where p.organization_id = $1 and p.session_id = $2 and p.branch = $3 and p.commit_sha is not null
        and p.status in ('succeeded', 'failed')
      order by p.created_at desc, p.id desc limit 1000`,
    values: [key.organizationId, key.sessionId, branch],
  })
}

/** Returns true if the Session was reset after the Publication of a commit: its first Run since is younger. */
export async function isResetSince(db: Queryable, key: SessionKey, commit: string): Promise<boolean> {
  const { rows } = await db.query<{ reset: boolean }>({
    text: `
      select exists (
        select 1 from sessions s
        join publications p on p.organization_id = s.organization_id and p.session_id = s.id and p.commit_sha = $3
        where s.organization_id = $1 and s.id = $2 and s.fresh_from_turn > 0 and p.created_at < s.first_run_started_at) as reset`,
    values: [key.organizationId, key.sessionId, commit],
  })
  return rows[0]?.reset === true
}

/**
 * Returns the first commit that the Session put on a branch, if a Run's checkpoint goes on from its tree: the work was not
 * begun afresh since the review, and before the Publication was asked for no later Turn came, and nobody typed at a
 * terminal after the seal.
 */
export async function findFollowed(
  db: Queryable,
  key: SessionKey,
  branch: string,
  runId: string,
): Promise<string | null> {
  const { rows } = await db.query<{ commit_sha: string }>({
    text: `
      select p.commit_sha from publications p
      join reviews v using (organization_id, session_id, revision)
      join sessions s on s.organization_id = p.organization_id and s.id = p.session_id
      join checkpoints c on c.organization_id = p.organization_id and c.session_id = p.session_id and c.run_id = $4
      where p.organization_id = $1 and p.session_id = $2 and p.branch = $3 and p.status = 'succeeded'
        and (s.fresh_from_turn = 0 or v.created_at >= s.first_run_started_at)
        and not exists (
          select 1 from turns t
          where t.organization_id = $1 and t.session_id = $2 and t.run_id <> $4 and t.created_at <= p.created_at
            and t.sequence > (
              select min(sequence) from turns where organization_id = $1 and session_id = $2 and run_id = $4))
        and not exists (
          select 1 from terminals w
          where w.organization_id = $1 and w.session_id = $2 and w.typed_at is not null
            and w.created_at <= p.created_at and least(w.awake_until, w.ended_at, p.created_at) > c.sealed_at)
      order by p.created_at, p.id limit 1`,
    values: [key.organizationId, key.sessionId, branch, runId],
  })
  return rows[0]?.commit_sha ?? null
}
