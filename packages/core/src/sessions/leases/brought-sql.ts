import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryChanged } from '@berth/platform/storage/postgres/database.ts'
import type { Brought, Placing } from '../../checkpoints/brought.ts'

/** Records a merge before it is placed in the workspace of a lease. */
export async function markPlacing(tx: Queryable, leaseId: string, placing: Placing): Promise<void> {
  await tx.query({
    text: 'update leases set merging = $2 where id = $1',
    values: [leaseId, JSON.stringify(placing)],
  })
}

/** Forgets a merge whose files are as before. */
export async function dropPlacing(tx: Queryable, leaseId: string): Promise<void> {
  await tx.query({ text: 'update leases set merging = null where id = $1', values: [leaseId] })
}

/** Records the commits that the workspace of a lease holds besides the pinned one; null: none. */
export async function markBrought(tx: Queryable, leaseId: string, brought: Brought | null): Promise<void> {
  await tx.query({
    text: 'update leases set brought = $2, merging = null where id = $1',
    values: [leaseId, brought === null ? null : JSON.stringify(brought)],
  })
}

/** Returns whether the attached workspace of a Session holds commits besides the pinned one. */
export async function hasBrought(db: Queryable, key: SessionKey): Promise<boolean> {
  return await queryChanged(db, {
    text: `
      select from leases
      where organization_id = $1 and session_id = $2 and ended_at is null and brought is not null`,
    values: [key.organizationId, key.sessionId],
  })
}

/** Returns the tip that somebody else gave the branch of a Session's work and that its attached workspace holds. */
export async function readBroughtHead(db: Queryable, key: SessionKey): Promise<Brought['head']> {
  const { rows } = await db.query<{ head: Brought['head'] }>({
    text: `
      select brought -> 'head' as head from leases
      where organization_id = $1 and session_id = $2 and ended_at is null`,
    values: [key.organizationId, key.sessionId],
  })
  return rows[0]?.head ?? null
}
