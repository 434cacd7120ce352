import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/**
 * Returns the Session of an installation that published a pull request last, on `publications_of_pull`; null if none has, or
 * it was archived.
 */
export async function findPublishedSession(
  db: Queryable,
  { organizationId, installationId }: { readonly organizationId: string; readonly installationId: string },
  pull: { readonly host: string; readonly repositoryId: string; readonly number: number },
): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>({
    name: 'find-published-session',
    text: `
      select s.id
      from publications p join sessions s on s.organization_id = p.organization_id and s.id = p.session_id
      join repository_grants g on g.id = (s.source ->> 'grantId')::uuid
      join host_connections c on c.id = g.connection_id
      where p.organization_id = $1 and p.result -> 'pullRequest' ->> 'number' = $2 and p.result is not null
        and s.owner_id = $3 and s.archived_at is null and c.host = $4 and g.repository_id = $5
      order by p.ended_at desc limit 1`,
    values: [organizationId, String(pull.number), installationId, pull.host, pull.repositoryId],
  })
  return rows[0]?.id ?? null
}
