import { randomUUID } from 'node:crypto'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { isUuid } from '@berth/platform/kit/uuid.ts'
import type { Database, Queryable } from '@berth/platform/storage/postgres/database.ts'
import { type Actor, appendAudit } from '../audit/append.ts'

/** Requests that each installation or membership of an organization may send. */
export interface Rate {
  readonly burst: number
  readonly perMinute: number
}

/** An organization as operators see it. */
export interface Organization {
  readonly id: string
  readonly name: string
  readonly createdAt: Date
  readonly suspendedAt: Date | null
  readonly cloudAccess: boolean
  /** Null: the deployment's rate holds. */
  readonly rate: Rate | null
  readonly members: number
}

/** What an operator changes about an organization. */
export type OrganizationChange =
  | { readonly suspended: boolean }
  | { readonly cloudAccess: boolean }
  /** Null returns to the deployment's rate. */
  | { readonly rate: Rate | null }

/** Adds an organization. @returns its id */
export async function insertOrganization(tx: Queryable, name: string, now: Date): Promise<string> {
  const id = randomUUID()
  await tx.query('insert into organizations (id, name, created_at) values ($1, $2, $3)', [id, name, now])
  return id
}

/** Returns whether there is an organization with this id that is not suspended. */
export async function isLiveOrganization(db: Queryable, id: string): Promise<boolean> {
  const { rows } = await db.query('select 1 from organizations where id = $1 and suspended_at is null', [id])
  return rows.length > 0
}

/** Lists every organization of the deployment, oldest first. */
export async function listOrganizations(db: Queryable): Promise<readonly Organization[]> {
  const { rows } = await db.query<{
    id: string
    name: string
    created_at: Date
    suspended_at: Date | null
    cloud_access: boolean
    rate_burst: number | null
    rate_per_minute: number | null
    members: number
  }>(`
    select o.id, o.name, o.created_at, o.suspended_at, o.cloud_access, o.rate_burst, o.rate_per_minute,
           (select count(*) from memberships m where m.organization_id = o.id and m.revoked_at is null) as members
    from organizations o order by o.created_at, o.id`)
  return rows.map(row => ({
    id: row.id,
    name: row.name,
    createdAt: row.created_at,
    suspendedAt: row.suspended_at,
    cloudAccess: row.cloud_access,
    rate:
      row.rate_burst === null || row.rate_per_minute === null
        ? null
        : { burst: row.rate_burst, perMinute: row.rate_per_minute },
    members: row.members,
  }))
}

/**
 * Changes an organization and records it; it holds on the next request of every credential.
 *
 * @throws ApiError 404 `organization_not_found`
 */
export async function changeOrganization(
  db: Database,
  id: string,
  change: OrganizationChange,
  actor: Actor,
  now: Date,
): Promise<void> {
  if (!isUuid(id)) throw refusal('organization_not_found')
  const { set, values, action, details } = statementOf(change, now)
  await db.transaction(async tx => {
    const { rowCount } = await tx.query(`update organizations set ${set} where id = $1`, [id, ...values])
    if (rowCount === 0) throw refusal('organization_not_found')
    const target = `organization/${id}`
    await appendAudit(tx, { organizationId: id, actor, action, target, outcome: 'done', details }, now)
  })
}

interface ChangeStatement {
  readonly set: string
  readonly values: readonly unknown[]
  readonly action: string
  readonly details: Readonly<Record<string, unknown>>
}

function statementOf(change: OrganizationChange, now: Date): ChangeStatement {
  if ('suspended' in change) {
    return change.suspended
      ? {
          set: 'suspended_at = coalesce(suspended_at, $2)',
          values: [now],
          action: 'organization.suspended',
          details: {},
        }
      : { set: 'suspended_at = null', values: [], action: 'organization.resumed', details: {} }
  }
  if ('cloudAccess' in change) {
    const details = { cloudAccess: change.cloudAccess }
    return { set: 'cloud_access = $2', values: [change.cloudAccess], action: 'organization.access_changed', details }
  }
  const { burst = null, perMinute = null } = change.rate ?? {}
  return {
    set: 'rate_burst = $2, rate_per_minute = $3',
    values: [burst, perMinute],
    action: 'organization.rate_changed',
    details: { burst, perMinute },
  }
}
