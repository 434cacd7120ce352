import { randomUUID } from 'node:crypto'
import { noteHead } from '@berth/core/sessions/follow-ups/follow-up-sql.ts'
import { appendEvents } from '@berth/core/sessions/log/append.ts'
import { claimedPublications, finishPublication } from '@berth/core/sessions/publications/publication-sql.ts'
import { publicationEvent } from '@berth/core/sessions/publications/under-way.ts'
import { endRun } from '@berth/core/sessions/runs/end-run.ts'
import { markRunning } from '@berth/core/sessions/runs/run-sql.ts'
import { holdSession, lockSession } from '@berth/core/sessions/session/session-sql.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Database, Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { Tenant } from '../api/tenant.ts'
import { oidOf, type PlayedPulls } from './played-pulls.ts'

/** A Session with a published pull request, as rows: it has no sandbox and no repository. */
export interface PlayedSession extends SessionKey {
  readonly number: number
  readonly publicationId: string
  readonly head: string
}

/** Writes a Session whose first Run made a revision that was published as a pull request. */
export async function playSession(db: Queryable, tenant: Tenant, number: number, now: Date): Promise<PlayedSession> {
  const { organizationId, installationId } = tenant
  const [sessionId, publicationId, turnId] = [randomUUID(), randomUUID(), randomUUID()]
  const key = { organizationId, sessionId }
  const source = { kind: 'local', grantId: randomUUID(), repositoryId: '1', baseBranch: 'main', baseOid: oidOf('base') }
  const of = [organizationId, sessionId]
  await db.query(
    `insert into sessions (organization_id, id, owner_kind, owner_id, request_hash, title, source, runtime, turn_count,
       first_run_started_at, created_at, updated_at)
     values ($1, $2, 'app_installation', $3, '', 'Played', $4, 'shell', 1, $5, $5, $5)`,
    [...of, installationId, JSON.stringify(source), now],
  )
  await db.query(
    `insert into runs (organization_id, session_id, id, turn_id, status, stop_reason, queued_at, due_at, started_at,
       ended_at) values ($1, $2, $3, $3, 'completed', 'completed', $4, $4, $4, $4)`,
    [...of, turnId, now],
  )
  await db.query(
    `insert into turns (organization_id, session_id, id, sequence, run_id, request_hash, message, files, author_kind,
       author_id, created_at) values ($1, $2, $3, 0, $3, '', 'true', '[]', 'app_installation', $4, $5)`,
    [...of, turnId, installationId, now],
  )
  await db.query(
    `insert into leases (organization_id, session_id, id, driver, host, runtime, state, created_at, expires_at, bound_at,
       idle_ms) values ($1, $2, $3, 'played', 'played', 'shell', 'attached', $4, 'infinity', 'infinity', 1)`,
    [...of, randomUUID(), now],
  )
  const revision = await playRevision(db, key, 'first', now)
  const head = oidOf(`${sessionId} first`)
  const pullRequest = { number, url: `https://played.test/pull/${number}`, draft: false, reused: false }
  const result = { delivery: 'pull_request', branch: `svc/${number}`, commitSha: head, pullRequest }
  await db.query(
    `insert into publications (organization_id, session_id, id, request_hash, revision, title, body, delivery, branch, draft,
       status, commit_sha, due_at, created_at, updated_at, ended_at, result)
     values ($1, $2, $3, '', $4, 'Pull', '', 'pull_request', $5, false, 'succeeded', $6, $7, $7, $7, $7, $8)`,
    [...of, publicationId, revision, result.branch, head, now, JSON.stringify(result)],
  )
  return { ...key, number, publicationId, head }
}

/** Makes a tree the Session's newest revision. */
async function playRevision(db: Queryable, { organizationId, sessionId }: SessionKey, tree: string, now: Date) {
  const headTree = oidOf(`tree ${tree}`)
  const revision = headTree.padEnd(64, '0')
  await db.query(
    `insert into reviews (organization_id, session_id, revision, base_oid, base_tree, head_tree, target_branch,
       document_sha256, created_at) values ($1, $2, $3, $4, $4, $5, 'main', $3, $6) on conflict do nothing`,
    [organizationId, sessionId, revision, oidOf('base'), headTree, now],
  )
  await db.query(
    `insert into review_requests (organization_id, session_id, tickets, revision, announced) values ($1, $2, 0, $3, $3)
     on conflict (organization_id, session_id) do update set revision = $3, announced = $3`,
    [organizationId, sessionId, revision],
  )
  return revision
}

/** How the played agent ends a Run. */
export type PlayedEnd = 'changes' | 'changes nothing' | 'push_conflict'

/** Ends every queued Run, as a worker whose agent needs no time. */
export async function playRuns(db: Database, now: Date, endOf: (sessionId: string) => PlayedEnd): Promise<number> {
  const { rows } = await db.query<{ organization_id: string; session_id: string; id: string }>(
    'select organization_id, session_id, id from runs where ended_at is null',
  )
  for (const { organization_id, session_id, id } of rows) {
    const key = { organizationId: organization_id, sessionId: session_id }
    const end = endOf(session_id)
    await db.transaction(async tx => {
      await lockSession(tx, key)
      if (end !== 'push_conflict') await markRunning(tx, key, id, now)
      if (end === 'changes') await playRevision(tx, key, id, now)
      const outcome =
        end === 'push_conflict'
          ? ({ status: 'failed', stopReason: 'error', errorCode: 'push_conflict' } as const)
          : ({ status: 'completed', stopReason: 'completed', summary: '[1] Done.' } as const)
      await endRun(tx, key, id, outcome, now)
    })
  }
  return rows.length
}

/**
 * Delivers every due Publication to the played host, as a deliverer that recorded its step before the push. Each commit
 * follows from the Publication, so whoever repeats it pushes the same one.
 * @param onPush called before each push
 */
export async function playPublications(
  db: Database,
  pulls: PlayedPulls,
  now: Date,
  onPush: (sessionId: string) => Promise<void>,
): Promise<number> {
  const until = new Date(now.getTime() + 1000)
  const rows = await claimedPublications.claim(db, { now, until }, 100, [['played']])
  for (const { claim, ...row } of rows) {
    const key = { organizationId: row.organization_id, sessionId: row.session_id }
    const number = Number(row.branch.split('/')[1])
    const commitSha = oidOf(row.id)
    const { head } = pulls.of(number)
    const { rows: known } = await db.query<{ known: boolean }>(
      `select exists (select from publications where session_id = $1 and commit_sha = $2)
         or exists (select from turns where session_id = $1 and bring @> jsonb_build_array(
           jsonb_build_object('kind', 'pushed', 'oid', $2::text))) as known`,
      [row.session_id, head],
    )
    const isOurs = known[0]?.known === true
    if (isOurs) await onPush(row.session_id)
    const isPushed = isOurs && pulls.push(number, head, commitSha, true)
    const url = `https://played.test/pull/${number}`
    const pullRequest = { number, url, draft: false, reused: true }
    const result = { delivery: 'pull_request' as const, branch: row.branch, commitSha, pullRequest }
    await db.transaction(async tx => {
      await holdSession(tx, key)
      if (isPushed) {
        await tx.query('update publications set commit_sha = $2 where id = $1', [row.id, commitSha])
        await noteHead(tx, key, { number, headSha: commitSha }, now)
      }
      const ended = await finishPublication(tx, claim, isPushed ? { result } : { errorCode: 'branch_moved' }, null, now)
      if (ended !== null) await appendEvents(tx, key, [publicationEvent(ended)], now)
    })
  }
  return rows.length
}
