import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** Records the image that a sandbox starts from, before it is made: its host keeps the image while the lease lives. */
export async function markStartedFrom(tx: Queryable, leaseId: string, digest: string): Promise<void> {
  await tx.query({ text: 'update leases set image_digest = $2 where id = $1', values: [leaseId, digest] })
}

/** Records the checkout that a sandbox shows, before it is made, or that it shows none: its host keeps it while the lease lives. */
export async function markTree(tx: Queryable, leaseId: string, name: string | null): Promise<void> {
  await tx.query({ text: 'update leases set tree = $2 where id = $1', values: [leaseId, name] })
}

/** Returns the images, by digest, and the checkouts that live leases of a host started from. */
export async function listShownTrees(db: Queryable, hosts: readonly string[]): Promise<readonly string[]> {
  const { rows } = await db.query<{ name: string }>({
    name: 'list-shown-trees',
    text: `
      select distinct name from leases, unnest(array[image_digest, tree]) as name
      where host = any ($1) and ended_at is null and name is not null`,
    values: [hosts],
  })
  return rows.map(({ name }) => name)
}
