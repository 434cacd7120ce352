import { isUuid } from '@berth/platform/kit/uuid.ts'
import { type Queryable, queryRows } from '@berth/platform/storage/postgres/database.ts'
import { statementName } from '@berth/platform/storage/postgres/statement-name.ts'

/** The entries that somebody looks for. Absent members filter nothing. */
export interface AuditFilter {
  readonly organizationId: string
  /** Id of an actor, or a kind of them. */
  readonly actor: string | undefined
  readonly action: string | undefined
  /** The part of actions before the dot. */
  readonly family: string | undefined
  readonly target: string | undefined
  /** Ids of things whose names contain `target`: entries about them count as well. */
  readonly named: readonly string[]
  readonly from: Date | undefined
  /** Exclusive. */
  readonly until: Date | undefined
}

/** The last entry of the page before, exclusive. */
export interface AuditPlace {
  readonly updatedAt: Date
  readonly id: string
}

export interface AuditRow {
  readonly id: string
  readonly at: Date
  readonly actor_kind: string
  readonly actor_id: string | null
  readonly actor_name: string | null
  readonly action: string
  readonly target: string | null
  readonly address: string | null
  readonly outcome: string
  readonly details: Readonly<Record<string, unknown>>
}

/**
 * Returns entries, newest first. `audit_log_of_organization` gives them in order; `audit_log_of_action` and
 * `audit_log_of_actor` find rare ones.
 */
export async function listAuditEntries(
  db: Queryable,
  filter: AuditFilter,
  after: AuditPlace | null,
  limit: number,
): Promise<readonly AuditRow[]> {
  const values: unknown[] = [filter.organizationId]
  const bind = (value: unknown) => `$${values.push(value)}`
  const conditions = ['organization_id = $1']
  if (filter.actor !== undefined) conditions.push(`coalesce(actor_id, actor_kind) = ${bind(filter.actor)}`)
  if (filter.action !== undefined) conditions.push(`action = ${bind(filter.action)}`)
  if (filter.family !== undefined) conditions.push(`split_part(action, '.', 1) = ${bind(filter.family)}`)
  if (filter.target !== undefined) {
    const [text, named] = [bind(filter.target), bind(filter.named)]
    conditions.push(
      `(position(lower(${text}) in lower(target)) > 0 or position(lower(${text}) in lower(details ->> 'name')) > 0
        or substring(target from '[ /]([^ /]+)$') = any(${named}::text[]))`,
    )
  }
  if (filter.from !== undefined) conditions.push(`at >= ${bind(filter.from)}`)
  if (filter.until !== undefined) conditions.push(`at < ${bind(filter.until)}`)
  if (after !== null) conditions.push(`(at, id) < (${bind(after.updatedAt)}::timestamptz, ${bind(after.id)}::uuid)`)
  const text = `
    select id, at, actor_kind, actor_id, actor_name, action, target, address, outcome, details
    from audit_log where ${conditions.join(' and ')} order by at desc, id desc limit ${bind(limit)}`
  const { rows } = await db.query<AuditRow>({ name: statementName('list-audit-entries', text), text, values })
  return rows
}

/** Returns the actions in an organization's log, from the index on actions alone. */
export async function listAuditActions(db: Queryable, organizationId: string): Promise<readonly string[]> {
  const { rows } = await db.query<{ action: string }>({
    name: 'list-audit-actions',
    text: `
      with recursive found as (
        (select action from audit_log where organization_id = $1 order by action limit 1)
        union all
        select (
          select a.action from audit_log a where a.organization_id = $1 and a.action > f.action order by a.action limit 1)
        from found f where f.action is not null)
      select action from found where action is not null`,
    values: [organizationId],
  })
  return rows.map(({ action }) => action)
}

/** Returns who acts in an organization's log, the last name of each, from the index on actors alone. */
export async function listAuditActors(
  db: Queryable,
  organizationId: string,
  limit: number,
): Promise<readonly Pick<AuditRow, 'actor_kind' | 'actor_id' | 'actor_name'>[]> {
  return await queryRows<Pick<AuditRow, 'actor_kind' | 'actor_id' | 'actor_name'>>(db, {
    name: 'list-audit-actors',
    text: `
      with recursive found as (
        (select coalesce(actor_id, actor_kind) as actor, 1 as number from audit_log where organization_id = $1
          order by coalesce(actor_id, actor_kind) limit 1)
        union all
        select (
          select coalesce(a.actor_id, a.actor_kind) from audit_log a
          where a.organization_id = $1 and coalesce(a.actor_id, a.actor_kind) > f.actor
          order by coalesce(a.actor_id, a.actor_kind) limit 1), f.number + 1
        from found f where f.actor is not null and f.number < $2)
      select l.actor_kind, l.actor_id, l.actor_name from found f
      cross join lateral (
        select actor_kind, actor_id, actor_name from audit_log a
        where a.organization_id = $1 and coalesce(a.actor_id, a.actor_kind) = f.actor
        order by a.at desc limit 1) l
      where f.actor is not null`,
    values: [organizationId, limit],
  })
}

/** Returns how people call what an organization's log names, by id. What is gone has no name any more. */
export async function findAuditNames(
  db: Queryable,
  organizationId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await db.query<{ id: string; name: string }>({
    name: 'find-audit-names',
    text: `
      select p.id::text as id, p.name from people p where p.id = any($3::uuid[]) and exists (
        select from memberships m where m.person_id = p.id and m.organization_id = $1)
      union all
      select m.id::text, p.name from memberships m join people p on p.id = m.person_id
        where m.organization_id = $1 and m.id = any($3::uuid[])
      union all
      select i.id::text, coalesce(i.name, a.name) from installations i join apps a on a.slug = i.app_slug
        where i.organization_id = $1 and i.id = any($3::uuid[])
      union all
      select slug, name from apps where slug = any($2) and organization_id = $1
      union all
      select k.id::text, coalesce(i.name, a.name) from api_keys k join installations i on i.id = k.installation_id
        join apps a on a.slug = i.app_slug where i.organization_id = $1 and k.id = any($3::uuid[])`,
    values: [organizationId, ids, ids.filter(isUuid)],
  })
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** So many things are found by their names. */
const MOST_NAMED = 500

/** Returns the ids of what an organization's log may name whose name contains a text, in either case. */
export async function findAuditIdsNamed(
  db: Queryable,
  organizationId: string,
  text: string,
): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>({
    name: 'find-audit-ids-named',
    text: `
      select named.id from (
        select p.id::text as id, p.name from memberships m join people p on p.id = m.person_id where m.organization_id = $1
        union all
        select m.id::text, p.name from memberships m join people p on p.id = m.person_id where m.organization_id = $1
        union all
        select i.id::text, coalesce(i.name, a.name) from installations i join apps a on a.slug = i.app_slug
          where i.organization_id = $1
        union all
        select slug, name from apps where organization_id = $1
        union all
        select k.id::text, coalesce(i.name, a.name) from api_keys k join installations i on i.id = k.installation_id
          join apps a on a.slug = i.app_slug where i.organization_id = $1
      ) named where position(lower($2) in lower(named.name)) > 0 limit $3`,
    values: [organizationId, text, MOST_NAMED],
  })
  return rows.map(({ id }) => id)
}
