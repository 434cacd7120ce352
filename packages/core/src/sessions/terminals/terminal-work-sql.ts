import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryAny } from '@berth/platform/storage/postgres/database.ts'

/**
 * Lists attached leases of hosts whose terminals nobody looks at any more, and in which somebody typed since they were
 * sealed last: by a Run, or because of a terminal.
 */
export async function listUnsealed(db: Queryable, hosts: readonly string[], now: Date): Promise<readonly SessionKey[]> {
  const { rows } = await db.query<{ organization_id: string; session_id: string }>({
    name: 'list-unsealed-terminals',
    text: `
      select l.organization_id, l.session_id from leases l
      where l.host = any ($1) and l.state = 'attached' and ${isUnsealed('l', '$2')} and not exists (
        select 1 from terminals t where t.lease_id = l.id and t.ended_at is null and t.awake_until > $2)`,
    values: [hosts, now],
  })
  return rows.map(row => ({ organizationId: row.organization_id, sessionId: row.session_id }))
}

/** SQL that is true if a lease has work of a terminal that no checkpoint has, and that nobody was asked to seal. */
const isUnsealed = (lease: string, now: string): string => `exists (
  select 1 from terminals t
  where t.lease_id = ${lease}.id and t.typed_at is not null
    and least(t.awake_until, coalesce(t.ended_at, ${now})) > greatest(t.seal_requested_at, (
      select max(c.sealed_at) from checkpoints c
      where c.organization_id = ${lease}.organization_id and c.session_id = ${lease}.session_id), '-infinity'))`

/** Returns whether a lease has work of a terminal that no checkpoint has. */
export async function hasUnsealed(tx: Queryable, leaseId: string, now: Date): Promise<boolean> {
  return await queryAny(tx, {
    name: 'has-unsealed-terminals',
    text: `select 1 from leases l where l.id = $1 and ${isUnsealed('l', '$2')}`,
    values: [leaseId, now],
  })
}

/** Returns the same, without what programs did in open terminals since a seal of what was typed there was asked for. */
export async function hasUnsealedTyping(tx: Queryable, leaseId: string, now: Date): Promise<boolean> {
  return await queryAny(tx, {
    name: 'has-unsealed-typing',
    text: `
      select 1 from leases l where l.id = $1 and ${isUnsealed('l', '$2')} and exists (
        select 1 from terminals t
        where t.lease_id = l.id and t.typed_at is not null
          and (t.ended_at is not null or t.seal_requested_at is null or t.typed_at > t.seal_requested_at))`,
    values: [leaseId, now],
  })
}

/** Notes that a worker was asked to seal the work of a lease's terminals. It is asked once for the same work. */
export async function noteSealRequested(tx: Queryable, leaseId: string, now: Date): Promise<void> {
  await tx.query({
    name: 'note-seal-asked',
    text: 'update terminals set seal_requested_at = $2 where lease_id = $1 and typed_at is not null',
    values: [leaseId, now],
  })
}
