import type { Queryable } from '../../storage/postgres/database.ts'

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
