import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** Returns the digests of the extensions that sandboxes of a host show, by the leases that tell of them. */
export async function listShownExtensions(db: Queryable, hosts: readonly string[]): Promise<readonly string[]> {
  const { rows } = await db.query<{ digest: string }>({
    name: 'list-shown-extensions',
    text: `
      select distinct shown ->> 'sha256' as digest
      from leases, jsonb_array_elements(apply -> 'extensions') as shown
      where host = any ($1) and ended_at is null and apply ? 'extensions' and shown ->> 'sha256' is not null`,
    values: [hosts],
  })
  return rows.map(({ digest }) => digest)
}

/** Returns the digests of the uploaded extensions that sandboxes of an organization show on hosts: not the catalog's. */
export async function listExtensionsShownBy(
  db: Queryable,
  organizationId: string,
  hosts: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await db.query<{ digest: string }>({
    name: 'list-extensions-shown-by',
    text: `
      select distinct shown ->> 'sha256' as digest
      from leases, jsonb_array_elements(apply -> 'extensions') as shown
      where organization_id = $1 and host = any ($2) and ended_at is null and apply ? 'extensions'
        and shown ->> 'ref' like 'sha256:%' and shown ->> 'sha256' is not null`,
    values: [organizationId, hosts],
  })
  return rows.map(({ digest }) => digest)
}
