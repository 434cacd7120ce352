import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/**
 * SQL condition: a host takes sandboxes of an organization. One of an organization takes no other's, and an organization
 * that is bound to its own hosts is taken by those alone.
 * @param host a row of `hosts`, all null for a host without a row
 */
export const takes = (host: string, organization: string): string => `
  (case when ${host}.organization_id is not null then coalesce(${host}.organization_id = ${organization}, false)
    else not exists (
      select 1 from organization_limits bound where bound.organization_id = ${organization} and bound.bound_at is not null) end)`

/**
 * SQL condition: a host gets further sandboxes: nobody has cordoned it, and it does not rest after failures. Whatever stands
 * there goes on.
 * @param host a row of `hosts`, all null for a host without a row
 */
export const takesNew = (host: string): string =>
  `(${host}.cordoned_at is null and coalesce(${host}.rests_until <= statement_timestamp(), true))`

/** `shared`: the organization is not bound. `not_configured`: it has no host that ever came. `outdated`: all that came are refused. */
export type ComputeStatus = 'shared' | 'ready' | 'not_configured' | 'outdated'

/** Returns whether an organization has compute that it may run on. A host that is away may come back, so it counts. */
export async function readComputeStatus(db: Queryable, organizationId: string): Promise<ComputeStatus> {
  const { rows } = await db.query<{ status: ComputeStatus }>({
    name: 'compute-standing',
    text: `
      select case
          when bool_or(h.refused_protocol is null and greatest(h.heard_at, h.seen_at) > 'epoch') then 'ready'
          when bool_or(h.refused_protocol is not null) then 'outdated'
          else 'not_configured'
        end as status
      from organization_limits b
      left join hosts h on h.organization_id = b.organization_id and h.removed_at is null
      where b.organization_id = $1 and b.bound_at is not null
      group by b.organization_id`,
    values: [organizationId],
  })
  return rows[0]?.status ?? 'shared'
}

/**
 * Refuses work of an organization that may run on nothing.
 * @returns whether the organization is bound to its own hosts
 * @throws ApiError 403 `cloud_compute_not_configured`
 * @throws ApiError 409 `cloud_compute_outdated`
 */
export async function requireCompute(db: Queryable, organizationId: string): Promise<boolean> {
  const status = await readComputeStatus(db, organizationId)
  if (status === 'not_configured') throw refusal('cloud_compute_not_configured')
  if (status === 'outdated') throw refusal('cloud_compute_outdated')
  return status === 'ready'
}

/**
 * Binds an organization to its own hosts, or lets it run on those of everybody again.
 * @returns whether that changed anything
 */
export async function bindToOwnHosts(
  tx: Queryable,
  organizationId: string,
  isBound: boolean,
  now: Date,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    isBound
      ? {
          text: `
            insert into organization_limits as l (organization_id, bound_at) values ($1, $2)
            on conflict (organization_id) do update set bound_at = excluded.bound_at where l.bound_at is null`,
          values: [organizationId, now],
        }
      : {
          text: 'update organization_limits set bound_at = null where organization_id = $1 and bound_at is not null',
          values: [organizationId],
        },
  )
  return rowCount > 0
}
