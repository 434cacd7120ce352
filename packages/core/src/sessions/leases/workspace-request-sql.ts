import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryAny } from '@berth/platform/storage/postgres/database.ts'

/** Asks for the Session's workspace; a second request changes nothing while the first is open. */
export async function requestWorkspace(tx: Queryable, key: SessionKey, now: Date): Promise<void> {
  await tx.query({
    text: `
      insert into workspace_requests (organization_id, session_id, requested_at) values ($1, $2, $3)
      on conflict do nothing`,
    values: [key.organizationId, key.sessionId, now],
  })
}

export type WorkspaceRequest = 'none' | 'open' | 'failed'

export async function readWorkspaceRequest(tx: Queryable, key: SessionKey): Promise<WorkspaceRequest> {
  const { rows } = await tx.query<{ failed: boolean }>({
    text: `
      select failed_at is not null as failed from workspace_requests where organization_id = $1 and session_id = $2`,
    values: [key.organizationId, key.sessionId],
  })
  const row = rows[0]
  return row === undefined ? 'none' : row.failed ? 'failed' : 'open'
}

export async function deleteWorkspaceRequest(tx: Queryable, key: SessionKey): Promise<void> {
  await tx.query({
    text: 'delete from workspace_requests where organization_id = $1 and session_id = $2',
    values: [key.organizationId, key.sessionId],
  })
}

/** Marks the request as failed, for the callers who wait for it. */
export async function failWorkspaceRequest(tx: Queryable, key: SessionKey, now: Date): Promise<void> {
  await tx.query({
    text: 'update workspace_requests set failed_at = $3 where organization_id = $1 and session_id = $2',
    values: [key.organizationId, key.sessionId, now],
  })
}

/** Returns true if a worker has taken the request up: it tells a slow request from one that no worker hears. */
export async function workspaceIsBeingMade(db: Queryable, key: SessionKey): Promise<boolean> {
  return await queryAny(db, {
    text: "select 1 from executions where organization_id = $1 and session_id = $2 and task = 'restore'",
    values: [key.organizationId, key.sessionId],
  })
}

/** Counts the sandboxes that were begun for the open request, that of now as well. */
export async function countTriesOfRequest(db: Queryable, key: SessionKey): Promise<number> {
  const { rows } = await db.query<{ tries: number }>({
    text: `
      select count(*)::integer as tries from workspace_requests r
      join leases l using (organization_id, session_id)
      where r.organization_id = $1 and r.session_id = $2 and l.created_at >= r.requested_at`,
    values: [key.organizationId, key.sessionId],
  })
  return rows[0]?.tries ?? 0
}
