import { type Queryable, queryRows } from '@berth/platform/storage/postgres/database.ts'

/** The caches that a sandbox may read: those of one environment for the same paths and launch repository. */
export interface CacheScope {
  readonly organizationId: string
  readonly environmentId: string
  readonly key: Buffer
}

/** A saved cache. Manifests are the small heads of trees; blobs hold the rest. */
export interface CacheRow {
  /** Branch of the launch repository; '' without one. */
  readonly branch: string
  readonly home_manifest: string | null
  readonly workspace_manifest: string | null
  readonly searched: Buffer
  readonly saved_at: Date
}

export interface NewCache extends CacheRow {
  /** Digests of all its blobs. */
  readonly blobs: readonly string[]
}

const columns = 'branch, home_manifest, workspace_manifest, searched, saved_at'
const ofScope = 'organization_id = $1 and environment_id = $2 and key = $3'
const valuesOf = ({ organizationId, environmentId, key }: CacheScope) => [organizationId, environmentId, key]

/** Lists the caches of a scope, without those that were not used since a time. */
export async function listCaches(db: Queryable, scope: CacheScope, usedSince: Date): Promise<CacheRow[]> {
  return await queryRows<CacheRow>(db, {
    name: 'list-environment-caches',
    text: `select ${columns} from environment_caches where ${ofScope} and used_at >= $4`,
    values: [...valuesOf(scope), usedSince],
  })
}

/** Notes that a cache was used. */
export async function useCache(db: Queryable, scope: CacheScope, branch: string, now: Date): Promise<void> {
  await db.query({
    text: `update environment_caches set used_at = greatest(used_at, $5) where ${ofScope} and branch = $4`,
    values: [...valuesOf(scope), branch, now],
  })
}

/** Records a cache that is whole in the blob store, in place of the earlier one of its branch. */
export async function putCache(tx: Queryable, scope: CacheScope, cache: NewCache): Promise<void> {
  await tx.query({
    text: `
      insert into environment_caches (organization_id, environment_id, key, branch, home_manifest, workspace_manifest,
        blobs, searched, saved_at, used_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)
      on conflict (organization_id, environment_id, key, branch) do update set
        home_manifest = excluded.home_manifest, workspace_manifest = excluded.workspace_manifest,
        blobs = excluded.blobs, searched = excluded.searched, saved_at = excluded.saved_at,
        used_at = greatest(environment_caches.used_at, excluded.used_at)`,
    values: [
      ...valuesOf(scope),
      cache.branch,
      cache.home_manifest,
      cache.workspace_manifest,
      cache.blobs,
      cache.searched,
      cache.saved_at,
    ],
  })
}

/** Removes a cache, unless another was saved in its place. */
export async function dropCache(db: Queryable, scope: CacheScope, { branch, saved_at }: CacheRow): Promise<void> {
  await db.query({
    text: `delete from environment_caches where ${ofScope} and branch = $4 and saved_at = $5`,
    values: [...valuesOf(scope), branch, saved_at],
  })
}

/** Removes the caches that were not used since a time. @returns their number */
export async function forgetCaches(db: Queryable, usedSince: Date): Promise<number> {
  const { rowCount } = await db.query({
    text: 'delete from environment_caches where used_at < $1',
    values: [usedSince],
  })
  return rowCount
}
