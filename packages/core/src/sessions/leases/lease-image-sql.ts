import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** Records the image that a sandbox starts from, before it is made: its host keeps the image while the lease lives. */
export async function markStartedFrom(tx: Queryable, leaseId: string, digest: string): Promise<void> {
  await tx.query({ text: 'update leases set image_digest = $2 where id = $1', values: [leaseId, digest] })
}

/** Returns the digests of the images that live leases of a host started from. */
export async function listShownImages(db: Queryable, hosts: readonly string[]): Promise<readonly string[]> {
  const { rows } = await db.query<{ digest: string }>({
    name: 'list-shown-images',
    text: `
      select distinct image_digest as digest from leases
      where host = any ($1) and ended_at is null and image_digest is not null`,
    values: [hosts],
  })
  return rows.map(({ digest }) => digest)
}
