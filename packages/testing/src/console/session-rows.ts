import { randomUUID } from 'node:crypto'
import type { Session } from '@berth/contract'
import type { Database } from '@berth/platform/storage/postgres/database.ts'

type Of = Pick<Session, 'organizationId' | 'id'>

/** Opens an Interaction in the active Run of a Session, as an agent that asks does. */
export async function openInteraction(
  db: Database,
  { organizationId, id }: Of,
  { kind, deadline }: { readonly kind: string; readonly deadline: Date | null },
): Promise<void> {
  const leaseId = randomUUID()
  await db.query(
    `insert into leases (organization_id, session_id, id, driver, host, runtime, state, created_at, expires_at, bound_at,
       idle_ms, ended_at, end_reason)
     values ($1, $2, $3, 'bubblewrap', 'h', 'shell', 'ended', now(), now(), now(), 1, now(), 'expired')`,
    [organizationId, id, leaseId],
  )
  await db.query(
    `insert into interactions (organization_id, session_id, id, run_id, kind, status, request, lease_id, journal_offset,
       agent_request, request_id, deadline, opened_at)
     select organization_id, session_id, $3, id, $4, 'open', '{}', $5, 0, '{}', $3, $6, now() from runs
     where organization_id = $1 and session_id = $2 and ended_at is null`,
    [organizationId, id, randomUUID(), kind, leaseId, deadline],
  )
}

/** Records a delivered pull request of a Session, and where its merge stands. */
export async function deliverPull(
  db: Database,
  { organizationId, id }: Of,
  pull: { readonly number: number; readonly url: string; readonly merge: 'waiting' | 'succeeded' | null },
): Promise<void> {
  const publicationId = randomUUID()
  const result = {
    delivery: 'pull_request',
    branch: 'b',
    commitSha: '0'.repeat(40),
    pullRequest: { number: pull.number, url: pull.url, draft: false, reused: false },
  }
  await db.query(
    `insert into reviews (organization_id, session_id, revision, base_oid, base_tree, head_tree, target_branch,
       document_sha256, created_at) values ($1, $2, $3, '', '', '', 'main', $3, now()) on conflict do nothing`,
    [organizationId, id, '0'.repeat(64)],
  )
  await db.query(
    `insert into publications (organization_id, session_id, id, request_hash, revision, title, body, delivery, branch,
       draft, status, due_at, created_at, updated_at, ended_at, result)
     values ($1, $2, $3, '', $4, 't', '', 'pull_request', 'b', false, 'succeeded', now(), now(), now(), now(), $5)`,
    [organizationId, id, publicationId, '0'.repeat(64), result],
  )
  if (pull.merge === null) return
  await db.query(
    `insert into merges (organization_id, session_id, publication_id, id, request_hash, strategy, mode, pull_number,
       head_sha, status, due_at, created_at, updated_at, ended_at)
     values ($1, $2, $3, $4, '', 'merge', 'when_ready', $5, '', $6, 'infinity', now(), now(), case when $6 = 'succeeded' then now() end)`,
    [organizationId, id, publicationId, randomUUID(), pull.number, pull.merge],
  )
}

/** Records a review of a Session's changes that nobody has published. */
export async function reviewChanges(db: Database, { organizationId, id }: Of): Promise<void> {
  const revision = '1'.repeat(64)
  await db.query(
    `insert into reviews (organization_id, session_id, revision, base_oid, base_tree, head_tree, target_branch,
       document_sha256, created_at) values ($1, $2, $3, '', 'a', 'b', 'main', $3, now())`,
    [organizationId, id, revision],
  )
  await db.query(
    'insert into review_requests (organization_id, session_id, tickets, answered, revision) values ($1, $2, 1, 1, $3)',
    [organizationId, id, revision],
  )
}
