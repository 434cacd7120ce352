import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryAny } from '@berth/platform/storage/postgres/database.ts'

/**
 * Returns SQL that is true if a Run has lost its authority. Its organization was suspended, or lost product access; or
 * the installation that owns its Session was revoked, or lost product access; or the person who submitted its Turn was
 * disabled, or left the organization and has not come back, before the Run began. A Run that has begun continues.
 *
 * @param run alias of a row of `runs`
 */
export const hasLostAuthority = (run: string): string => `(
  exists (
    select 1 from sessions o join installations i on i.id = o.owner_id
    where o.organization_id = ${run}.organization_id and o.id = ${run}.session_id
      and o.owner_kind = 'app_installation'
      and (i.revoked_at is not null or not i.capabilities @> '{svc.cloud.access}'))
  or exists (
    select 1 from organizations g
    where g.id = ${run}.organization_id and (g.suspended_at is not null or not g.cloud_access))
  or (${run}.started_at is null and exists (
    select 1 from turns t
    left join people p on p.id = t.author_id
    left join memberships m on m.organization_id = t.organization_id and m.person_id = t.author_id
    where t.organization_id = ${run}.organization_id and t.session_id = ${run}.session_id and t.id = ${run}.turn_id
      and t.author_kind = 'person'
    group by p.disabled_at
    having p.disabled_at is not null or (count(m.id) > 0 and bool_and(m.revoked_at is not null)))))`

export interface RunKey extends SessionKey {
  readonly runId: string
}

/**
 * Lists Runs that must end because their authority has ended. It uses `runs_active`, so it reads only Runs that have
 * not ended. It leaves running ones that were asked to stop to their worker.
 */
export async function findUnauthorizedRuns(db: Queryable, limit: number): Promise<RunKey[]> {
  const { rows } = await db.query<{ organization_id: string; session_id: string; id: string }>({
    name: 'find-unauthorized-runs',
    text: `
      select r.organization_id, r.session_id, r.id from runs r
      where r.ended_at is null and not (r.status = 'running' and r.cancel_requested_at is not null)
        and ${hasLostAuthority('r')}
      limit $1`,
    values: [limit],
  })
  return rows.map(row => ({ organizationId: row.organization_id, sessionId: row.session_id, runId: row.id }))
}

/** Returns true if the authority of the Run has ended; false if there is no such Run. */
export async function isUnauthorized(db: Queryable, key: SessionKey, runId: string): Promise<boolean> {
  return await queryAny(db, {
    name: 'is-unauthorized',
    text: `
      select 1 from runs r
      where r.organization_id = $1 and r.session_id = $2 and r.id = $3 and ${hasLostAuthority('r')}`,
    values: [key.organizationId, key.sessionId, runId],
  })
}

/**
 * Returns true if somebody may still have a Session worked on without asking again: its organization and its owner stand,
 * and the person is a member, or the installation is not revoked and may publish.
 */
export async function isActiveAuthor(
  db: Queryable,
  key: SessionKey,
  by: { readonly kind: 'person' | 'app_installation'; readonly id: string },
): Promise<boolean> {
  return await queryAny(db, {
    name: 'is-standing-author',
    text: `
      select from sessions s join organizations g on g.id = s.organization_id
      where s.organization_id = $1 and s.id = $2 and g.suspended_at is null and g.cloud_access
        and (s.owner_kind <> 'app_installation' or exists (
          select from installations o
          where o.id = s.owner_id and o.revoked_at is null and o.capabilities @> '{svc.cloud.access}'))
        and case $3 when 'person' then exists (
          select from people p join memberships m on m.person_id = p.id
          where p.id = $4 and p.disabled_at is null and m.organization_id = $1 and m.revoked_at is null)
        else exists (
          select from installations i
          where i.id = $4 and i.organization_id = $1 and i.revoked_at is null
            and i.capabilities @> '{svc.cloud.access,svc.cloud.publications:create}') end`,
    values: [key.organizationId, key.sessionId, by.kind, by.id],
  })
}
