import { findAuditIdsNamed, findAuditNames } from '@berth/core/accounts/audit/audit-sql.ts'
import type { AuditIdsNamed, AuditNames } from '@berth/core/accounts/audit/read-audit.ts'
import { isUuid } from '@berth/platform/kit/uuid.ts'

/** Returns the names of the things in an organization's log, by id, in accounts and in their work. */
export const findNames: AuditNames = async (db, organizationId, ids) => {
  const { rows } = await db.query<{ id: string; name: string }>({
    name: 'find-names-of-work',
    text: `
      select id, name from hosts where id = any($2) and organization_id = $1 and name is not null
      union all
      select id::text, name from environments where organization_id = $1 and id = any($3::uuid[])
      union all
      select id::text, title from sessions where organization_id = $1 and id = any($3::uuid[])
      union all
      select id::text, name from triggers where organization_id = $1 and id = any($3::uuid[])
      union all
      select id::text, account_login from host_connections where organization_id = $1 and id = any($3::uuid[])
      union all
      select w.id::text, split_part(split_part(w.url, '://', 2), '/', 1) from webhook_endpoints w
        join installations i on i.id = w.installation_id where i.organization_id = $1 and w.id = any($3::uuid[])`,
    values: [organizationId, ids, ids.filter(isUuid)],
  })
  const accounts = await findAuditNames(db, organizationId, ids)
  return new Map([...rows.map(({ id, name }) => [id, name] as const), ...accounts])
}

/** So many things are found by their names; of Sessions the newest. */
const MOST_NAMED = 500

/** Returns the ids of the things whose name contains a text, in accounts and in the organization's work. */
export const findIdsNamed: AuditIdsNamed = async (db, organizationId, text) => {
  const { rows } = await db.query<{ id: string }>({
    name: 'find-ids-of-work-named',
    text: `
      select named.id from (
        select id, name from hosts where organization_id = $1
        union all
        select id::text, name from environments where organization_id = $1
        union all
        select id::text, name from triggers where organization_id = $1
        union all
        select id::text, account_login from host_connections where organization_id = $1
        union all
        select w.id::text, split_part(split_part(w.url, '://', 2), '/', 1) from webhook_endpoints w
          join installations i on i.id = w.installation_id where i.organization_id = $1
        union all
        (select id::text, title from sessions where organization_id = $1 order by created_at desc limit 10000)
      ) named where position(lower($2) in lower(named.name)) > 0 limit $3`,
    values: [organizationId, text, MOST_NAMED],
  })
  return [...rows.map(({ id }) => id), ...(await findAuditIdsNamed(db, organizationId, text))]
}
