import type { AgentChange } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryRows } from '@berth/platform/storage/postgres/database.ts'

/** Most Runs and most decisions that a statement lists. */
export const MOST_LISTED = 1000

/** The newest of a list, oldest first, and how many there are. */
interface Newest<T> {
  readonly items: readonly T[]
  readonly total: number
}

type Run = AgentChange['runs'][number]

/** Returns the Session's newest Runs with who asked for them. */
export async function newestRuns(db: Queryable, key: SessionKey): Promise<Newest<Run>> {
  const { rows } = await db.query<{
    id: string
    status: string
    runtime: string | null
    kind: string
    by: string
    total: number
  }>({
    text: `
      select r.id, r.status, r.runtime, t.author_kind as kind, t.author_id as by, count(*) over ()::int as total
      from runs r join turns t on t.organization_id = r.organization_id and t.session_id = r.session_id and t.id = r.turn_id
      where r.organization_id = $1 and r.session_id = $2 order by r.queued_at desc, r.id desc limit $3`,
    values: [key.organizationId, key.sessionId, MOST_LISTED],
  })
  const items = rows.map(({ id, status, runtime, kind, by }) => ({
    id,
    requestedBy: { kind, id: by },
    ...(runtime !== null && { runtime }),
    status,
  }))
  return { items: items.reverse(), total: rows[0]?.total ?? 0 }
}

/** Returns the Session's newest decisions on approvals, without what they are about. */
export async function newestApprovals(
  db: Queryable,
  key: SessionKey,
): Promise<Newest<AgentChange['approvals'][number]>> {
  const { rows } = await db.query<{
    id: string
    run_id: string
    choice: string
    decided_by_kind: string | null
    decided_by_id: string | null
    ended_at: Date
    total: number
  }>({
    text: `
      select id, run_id, choice, decided_by_kind, decided_by_id, ended_at, count(*) over ()::int as total
      from interactions
      where organization_id = $1 and session_id = $2 and kind = 'approval' and status = 'resolved' and choice is not null
      order by ended_at desc, id desc limit $3`,
    values: [key.organizationId, key.sessionId, MOST_LISTED],
  })
  const items = rows.map(({ id, run_id, choice, decided_by_kind: kind, decided_by_id: by, ended_at }) => ({
    id,
    runId: run_id,
    decision: choice,
    ...(kind !== null && by !== null && { decidedBy: { kind, id: by } }),
    decidedAt: ended_at.toISOString(),
  }))
  return { items: items.reverse(), total: rows[0]?.total ?? 0 }
}

/** Lists the agents that the Session's sandboxes were made for, with the releases of uploaded engines. */
export async function listRuntimes(
  db: Queryable,
  key: SessionKey,
): Promise<readonly { readonly id: string; readonly release: string | null }[]> {
  return await queryRows<{ id: string; release: string | null }>(db, {
    text: `
      select distinct runtime as id, release_sha as release from leases
      where organization_id = $1 and session_id = $2 order by 1, 2`,
    values: [key.organizationId, key.sessionId],
  })
}

/** Returns the digests of Artifacts of the Session, by their ids. */
export async function digestsOfArtifacts(
  db: Queryable,
  key: SessionKey,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await db.query<{ id: string; sha256: string }>({
    text: 'select id, sha256 from artifacts where organization_id = $1 and session_id = $2 and id = any ($3)',
    values: [key.organizationId, key.sessionId, ids],
  })
  return new Map(rows.map(({ id, sha256 }) => [id, sha256]))
}
