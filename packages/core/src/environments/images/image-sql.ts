import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { EnvironmentKey } from '../environment-sql.ts'

/** Why an environment has no image. */
export type ImageFault = 'secret' | 'size' | 'damaged' | 'does_not_start'

/** Names the image of a revision. */
export interface ImageKey extends EnvironmentKey {
  readonly revision: number
  /** Digest of whatever else decides the content. */
  readonly variant: string
}

/** An image, or the place of one that is being built or that cannot be built. */
export interface ImageRow {
  readonly id: string
  readonly state: 'building' | 'sealed' | 'ready' | 'unavailable'
  readonly reason: ImageFault | null
  readonly exports: string | null
}

/** The trees of an image. */
export interface SealedImage {
  readonly workspaceManifest: string
  readonly homeManifest: string
  readonly digest: string
}

const sealedColumns = 'workspace_manifest as "workspaceManifest", home_manifest as "homeManifest", digest'
const keyOf = ({ organizationId, environmentId, revision, variant }: ImageKey) => [
  organizationId,
  environmentId,
  revision,
  variant,
]
const byKey = 'organization_id = $1 and environment_id = $2 and revision = $3 and variant = $4'

export async function findImage(db: Queryable, key: ImageKey): Promise<ImageRow | null> {
  const { rows } = await db.query<ImageRow>({
    name: 'find-environment-image',
    text: `select id, state, reason, exports from environment_images where ${byKey}`,
    values: keyOf(key),
  })
  return rows[0] ?? null
}

/** Returns the trees of an image that was started once, and notes that it is in use. */
export async function useImage(db: Queryable, id: string, now: Date): Promise<SealedImage | null> {
  const { rows } = await db.query<SealedImage>({
    text: `update environment_images set used_at = $2 where id = $1 and state = 'ready' returning ${sealedColumns}`,
    values: [id, now],
  })
  return rows[0] ?? null
}

/** Returns an organization's image of this digest; null if it is gone. */
export async function findSealedImage(
  db: Queryable,
  organizationId: string,
  digest: string,
): Promise<SealedImage | null> {
  const { rows } = await db.query<SealedImage>({
    text: `select ${sealedColumns} from environment_images where organization_id = $1 and digest = $2 limit 1`,
    values: [organizationId, digest],
  })
  return rows[0] ?? null
}

/**
 * Takes the right to build an image, unless another process holds it or the image exists. Nobody would start from the
 * image of an archived environment, or of a revision that is not the newest.
 * @returns the image's id; null if there is nothing to build
 */
export async function claimBuild(
  db: Queryable,
  key: ImageKey,
  build: { readonly id: string; readonly platform: string; readonly now: Date; readonly until: Date },
): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>({
    text: `
      insert into environment_images as i (organization_id, environment_id, revision, variant, id, platform, state,
        claimed_until, created_at, used_at)
      select organization_id, id, revision, $4, $5, $6, 'building', $7, $8, $8
      from environments
      where organization_id = $1 and id = $2 and revision = $3 and archived_at is null
      on conflict (organization_id, environment_id, revision, variant) do update
      set id = excluded.id, claimed_until = excluded.claimed_until
      where i.state = 'building' and i.claimed_until < $8
      returning id`,
    values: [...keyOf(key), build.id, build.platform, build.until, build.now],
  })
  return rows[0]?.id ?? null
}

/** Records the trees of an image. It counts once it was started. */
export async function recordSealed(
  tx: Queryable,
  id: string,
  image: SealedImage & { readonly blobs: readonly string[]; readonly exports: string | null },
  now: Date,
): Promise<void> {
  await tx.query({
    text: `
      update environment_images
      set state = 'sealed', workspace_manifest = $2, home_manifest = $3, digest = $4, blobs = $5, exports = $6,
        claimed_until = $7
      where id = $1 and state = 'building'`,
    values: [id, image.workspaceManifest, image.homeManifest, image.digest, image.blobs, image.exports, now],
  })
}

/** Records why there is no image; its blobs go. */
export async function recordUnavailable(tx: Queryable, id: string, reason: ImageFault): Promise<void> {
  await tx.query({
    text: `
      update environment_images
      set state = 'unavailable', reason = $2, workspace_manifest = null, home_manifest = null, digest = null,
        blobs = '{}', exports = null
      where id = $1`,
    values: [id, reason],
  })
}

/** Lets go of a build that came to nothing, so that the next apply may try again. */
export async function releaseBuild(tx: Queryable, id: string): Promise<void> {
  await tx.query({ text: "delete from environment_images where id = $1 and state = 'building'", values: [id] })
}

/** Takes one sealed image of a platform, to start it once. */
export async function claimTrial(
  db: Queryable,
  platform: string,
  now: Date,
  until: Date,
): Promise<(SealedImage & { readonly id: string }) | null> {
  const { rows } = await db.query<SealedImage & { id: string }>({
    name: 'claim-image-trial',
    text: `
      update environment_images set claimed_until = $3
      where id = (
        select id from environment_images where state = 'sealed' and platform = $1 and claimed_until <= $2
        order by claimed_until limit 1 for update skip locked
      )
      returning id, ${sealedColumns}`,
    values: [platform, now, until],
  })
  return rows[0] ?? null
}

/** Counts a trial in which no sandbox started. @returns how many there were; 0 if the image is gone */
export async function countTrial(db: Queryable, id: string): Promise<number> {
  const { rows } = await db.query<{ trials: number }>({
    text: "update environment_images set trials = trials + 1 where id = $1 and state = 'sealed' returning trials",
    values: [id],
  })
  return rows[0]?.trials ?? 0
}

/** Records that an image was started once: later sandboxes start from it. */
export async function recordStarted(db: Queryable, id: string): Promise<void> {
  await db.query({
    text: "update environment_images set state = 'ready' where id = $1 and state = 'sealed'",
    values: [id],
  })
}

/**
 * Removes images that no later sandbox starts from: those of archived environments, of revisions that are not the newest
 * ones, and those that nothing has used since a time. @returns how many
 */
export async function retireImages(db: Queryable, unusedSince: Date): Promise<number> {
  const { rowCount } = await db.query({
    text: `
      delete from environment_images i
      using environments e
      where e.organization_id = i.organization_id and e.id = i.environment_id
        and (e.archived_at is not null or e.revision <> i.revision or i.used_at < $1)`,
    values: [unusedSince],
  })
  return rowCount
}

/** Returns the digests of the images that exist. */
export async function listImageDigests(db: Queryable): Promise<readonly string[]> {
  const { rows } = await db.query<{ digest: string }>({
    text: 'select distinct digest from environment_images where digest is not null',
    values: [],
  })
  return rows.map(({ digest }) => digest)
}
