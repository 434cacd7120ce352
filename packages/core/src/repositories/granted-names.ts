import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/**
 * Returns which repositories a live grant of the organization covers, whoever holds it. A whole account covers those
 * that nobody has seen yet, too.
 * @param names `owner/name`, in any case
 * @returns names in lower case
 */
export async function findGrantedNames(
  db: Queryable,
  organizationId: string,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ name: string }>({
    name: 'find-granted-names',
    text: `
      select name from unnest($2::text[]) as name
      where exists (
        select 1 from host_connections c
        left join repository_grants g on g.connection_id = c.id and g.revoked_at is null and g.replaced_by is null
        where c.organization_id = $1 and c.revoked_at is null
          and (lower(g.full_name) = name or (c.whole and lower(c.account_login) = split_part(name, '/', 1))))`,
    values: [organizationId, [...new Set(names.map(name => name.toLowerCase()))]],
  })
  return new Set(rows.map(({ name }) => name))
}
