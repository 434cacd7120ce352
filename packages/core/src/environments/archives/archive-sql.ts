import { type Queryable, queryRow } from '@berth/platform/storage/postgres/database.ts'
import type { EnvironmentKey } from '../environment-sql.ts'
import type { ExtensionIdentity } from './manifest.ts'

/** An archive that an environment owns. */
export interface StoredArchive {
  readonly sha256: string
  readonly size_bytes: number
  readonly extension: ExtensionIdentity
  /** True if no runtime gets anything of it. */
  readonly brings_nothing: boolean
}

/** Returns the digests of the archives that an environment owns. */
export async function listOwnedArchives(
  db: Queryable,
  { organizationId, environmentId }: EnvironmentKey,
): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ sha256: string }>({
    name: 'list-owned-archives',
    text: 'select sha256 from environment_archives where organization_id = $1 and environment_id = $2',
    values: [organizationId, environmentId],
  })
  return new Set(rows.map(({ sha256 }) => sha256))
}

/** Returns an archive of an environment, and lets the day of an unnamed one begin anew: somebody uploaded it again. */
export async function renewArchive(
  tx: Queryable,
  { organizationId, environmentId }: EnvironmentKey,
  sha256: string,
  now: Date,
): Promise<StoredArchive | null> {
  return await queryRow<StoredArchive>(tx, {
    text: `
      update environment_archives
      set unnamed_since = case when unnamed_since is not null then $4::timestamptz end
      where organization_id = $1 and environment_id = $2 and sha256 = $3
      returning sha256, size_bytes, extension, brings_nothing`,
    values: [organizationId, environmentId, sha256, now],
  })
}

/** Returns the bytes of an organization's archives other than one; two environments share an archive's bytes. */
export async function countOtherBytes(tx: Queryable, organizationId: string, sha256: string): Promise<number> {
  const { rows } = await tx.query<{ bytes: string }>({
    text: `
      select coalesce(sum(size_bytes), 0) as bytes from (
        select distinct sha256, size_bytes from environment_archives where organization_id = $1 and sha256 <> $2
      ) as archives`,
    values: [organizationId, sha256],
  })
  return Number(rows[0]?.bytes ?? 0)
}

export async function insertArchive(
  tx: Queryable,
  { organizationId, environmentId }: EnvironmentKey,
  { sha256, size_bytes, extension, brings_nothing }: StoredArchive,
  now: Date,
): Promise<void> {
  await tx.query({
    text: `
      insert into environment_archives (organization_id, environment_id, sha256, size_bytes, extension, unnamed_since,
        brings_nothing)
      values ($1, $2, $3, $4, $5, $6, $7)`,
    values: [organizationId, environmentId, sha256, size_bytes, JSON.stringify(extension), now, brings_nothing],
  })
}
