import type { PublicationError } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryRow } from '@berth/platform/storage/postgres/database.ts'

/** What a Session has of a pull request, and what the pull request has of the Session. */
export interface DeliveryState {
  /** Its newest revision, with its tree; null before the first. */
  readonly revision: string | null
  readonly tree: string | null
  /** The newest Publication of the pull request. */
  readonly publication_id: string | null
  readonly title: string
  readonly body: string
  readonly branch: string
  readonly draft: boolean
  readonly commit_sha: string | null
  readonly published_revision: string | null
  readonly published_tree: string | null
  /** Every commit that the Session has put on the branch. */
  readonly commits: readonly string[]
}

/** Reads how the Session stands to one of its pull requests. */
export async function readDeliveryState(db: Queryable, key: SessionKey, pullNumber: number): Promise<DeliveryState> {
  const { rows } = await db.query<DeliveryState>({
    name: 'read-delivery-state',
    text: `
      select q.revision, w.head_tree as tree, p.id as publication_id, p.title, p.body, p.branch, p.draft,
        p.result ->> 'commitSha' as commit_sha, p.revision as published_revision, v.head_tree as published_tree,
        array(
          select d.commit_sha from publications d
          where d.organization_id = $1 and d.session_id = $2 and d.branch = p.branch and d.commit_sha is not null
            and d.status in ('attempted', 'succeeded', 'failed')
        ) as commits
      from publications p
      join reviews v using (organization_id, session_id, revision)
      left join review_requests q on q.organization_id = p.organization_id and q.session_id = p.session_id
      left join reviews w
        on w.organization_id = p.organization_id and w.session_id = p.session_id and w.revision = q.revision
      where p.organization_id = $1 and p.session_id = $2 and p.result is not null
        and p.result -> 'pullRequest' ->> 'number' = $3
      order by p.created_at desc, p.id desc limit 1`,
    values: [key.organizationId, key.sessionId, String(pullNumber)],
  })
  const [row] = rows
  if (row === undefined) throw new Error('a pull request is followed that its session has not published')
  return row
}

/** What has become of a Turn. */
export interface TurnState {
  readonly run_id: string
  readonly status: string
  readonly stop_reason: string | null
  readonly error_code: string | null
  readonly summary: string | null
  readonly ended_at: Date | null
}

/** Reads the Run of a Turn. */
export async function readTurnState(db: Queryable, key: SessionKey, turnId: string): Promise<TurnState | null> {
  return await queryRow<TurnState>(db, {
    name: 'read-followed-turn',
    text: `
      select r.id as run_id, r.status, r.stop_reason, r.error_code, r.result ->> 'summary' as summary, r.ended_at
      from turns t join runs r
        on r.organization_id = t.organization_id and r.session_id = t.session_id and r.id = t.run_id
      where t.organization_id = $1 and t.session_id = $2 and t.id = $3`,
    values: [key.organizationId, key.sessionId, turnId],
  })
}

/** Returns what the Runs of Turns have cost in US dollars, as far as they have ended and it is known. */
export async function readSpent(db: Queryable, key: SessionKey, turnIds: readonly string[]): Promise<number> {
  if (turnIds.length === 0) return 0
  const { rows } = await db.query<{ usd: number }>({
    name: 'read-follow-up-cost',
    text: `
      select coalesce(sum(cost_usd), 0)::double precision as usd from runs
      where organization_id = $1 and session_id = $2 and turn_id = any($3::uuid[])`,
    values: [key.organizationId, key.sessionId, turnIds],
  })
  return rows[0]?.usd ?? 0
}

/** Returns the first message of a Session, which is the program of one whose agent runs scripts. */
export async function readFirstMessage(db: Queryable, key: SessionKey): Promise<string> {
  const { rows } = await db.query<{ message: string }>({
    text: 'select message from turns where organization_id = $1 and session_id = $2 order by sequence limit 1',
    values: [key.organizationId, key.sessionId],
  })
  return rows[0]?.message ?? ''
}

/** Failures of a Publication after which the next look at the host tells what is to be done. */
const overtaken: ReadonlySet<PublicationError> = new Set<PublicationError>(['branch_moved', 'no_changes'])

/** Returns whether a Publication failed because somebody else was faster, or nothing was left to deliver. */
export const isOvertaken = (code: PublicationError | null): boolean => code !== null && overtaken.has(code)
