import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** Returns how people and installations of an organization are called, by their ids. */
export async function namesOf(
  db: Queryable,
  organizationId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map()
  const { rows } = await db.query<{ id: string; name: string }>({
    name: 'names-of-deciders',
    text: `
      select p.id, p.name from people p join memberships m on m.person_id = p.id
        where m.organization_id = $1 and p.id = any ($2::uuid[])
      union all
      select i.id, coalesce(i.name, a.name) from installations i join apps a on a.slug = i.app_slug
        where i.organization_id = $1 and i.id = any ($2::uuid[])`,
    values: [organizationId, ids],
  })
  return new Map(rows.map(({ id, name }) => [id, name]))
}
