import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** Records the layer that a sandbox is about to show, before it is made: its host keeps the layer while the lease lives. */
export async function markLayer(tx: Queryable, leaseId: string, digest: string): Promise<void> {
  await tx.query({ text: 'update leases set package_layer = $2 where id = $1', values: [leaseId, digest] })
}

/** Returns the digests of the layers that live leases of a host show. */
export async function listShownLayers(db: Queryable, hosts: readonly string[]): Promise<readonly string[]> {
  const { rows } = await db.query<{ digest: string }>({
    name: 'list-shown-layers',
    text: `
      select distinct package_layer as digest from leases
      where host = any ($1) and ended_at is null and package_layer is not null`,
    values: [hosts],
  })
  return rows.map(({ digest }) => digest)
}
