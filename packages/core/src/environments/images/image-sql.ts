import { ClaimedRows } from '@berth/platform/storage/postgres/claimed-rows.ts'
import { type Queryable, queryRow } from '@berth/platform/storage/postgres/database.ts'
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
  return await queryRow<ImageRow>(db, {
    name: 'find-environment-image',
    text: `select id, state, reason, exports from environment_images where ${byKey}`,
    values: keyOf(key),
  })
}

/** Returns the trees of an image that was started once, and notes that it is in use. */
export async function useImage(db: Queryable, id: string, now: Date): Promise<SealedImage | null> {
  return await queryRow<SealedImage>(db, {
    text: `update environment_images set used_at = $2 where id = $1 and state = 'ready' returning ${sealedColumns}`,
    values: [id, now],
  })
}

/** Returns an organization's image of this digest; null if it is gone. */
export async function findSealedImage(
  db: Queryable,
  organizationId: string,
  digest: string,
): Promise<SealedImage | null> {
  return await queryRow<SealedImage>(db, {
    text: `select ${sealedColumns} from environment_images where organization_id = $1 and digest = $2 limit 1`,
    values: [organizationId, digest],
  })
}

/** An image that is claimed, to be built or to be started once. */
export interface ImageClaim {
  readonly id: string
  readonly claim: string
}

interface ImageColumns extends ImageRow {
  readonly workspace_manifest: string | null
  readonly home_manifest: string | null
  readonly digest: string | null
  readonly blobs: readonly string[]
}

/** The sealed images that workers share, to start each once. `$4` is the platform. */
const claimedImages = new ClaimedRows<ImageColumns>({
  table: 'environment_images',
  key: ['id'],
  due: "r.state = 'sealed' and r.platform = $4",
  order: 'r.claimed_until nulls first',
})

/**
 * Claims the building of an image, unless another process holds it or the image exists. Nobody would start from the image
 * of an archived environment, or of a revision that is not the newest.
 * @returns null if there is nothing to build
 */
export async function claimBuild(
  db: Queryable,
  key: ImageKey,
  { platform, now, until }: { readonly platform: string; readonly now: Date; readonly until: Date },
): Promise<ImageClaim | null> {
  return await queryRow<ImageClaim>(db, {
    text: `
      insert into environment_images as i (organization_id, environment_id, revision, variant, id, platform, state,
        claim, claimed_until, created_at, used_at)
      select organization_id, id, revision, $4, gen_random_uuid(), $5, 'building', gen_random_uuid(), $6, $7, $7
      from environments
      where organization_id = $1 and id = $2 and revision = $3 and archived_at is null
      on conflict (organization_id, environment_id, revision, variant) do update
      set id = excluded.id, claim = excluded.claim, claimed_until = excluded.claimed_until
      where i.state = 'building' and i.claimed_until < $7
      returning id, claim`,
    values: [...keyOf(key), platform, until, now],
  })
}

/** Records the trees of an image. It counts once it was started. */
export const recordSealed = (
  tx: Queryable,
  { claim }: ImageClaim,
  image: SealedImage & Pick<ImageColumns, 'blobs' | 'exports'>,
): Promise<unknown> =>
  claimedImages.release(tx, claim, {
    state: 'sealed',
    workspace_manifest: image.workspaceManifest,
    home_manifest: image.homeManifest,
    digest: image.digest,
    blobs: image.blobs,
    exports: image.exports,
  })

/** Records why there is no image; its blobs go. */
export async function recordUnavailable(tx: Queryable, id: string, reason: ImageFault): Promise<void> {
  await tx.query({
    text: `
      update environment_images
      set state = 'unavailable', reason = $2, workspace_manifest = null, home_manifest = null, digest = null,
        blobs = '{}', exports = null, claim = null, claimed_until = null
      where id = $1`,
    values: [id, reason],
  })
}

/** Lets go of a build that came to nothing, so that the next apply may try again. */
export async function releaseBuild(tx: Queryable, { claim }: ImageClaim): Promise<void> {
  await tx.query({ text: 'delete from environment_images where claim = $1', values: [claim] })
}

/** Claims one sealed image of a platform, to start it once. */
export async function claimTrial(
  db: Queryable,
  platform: string,
  by: { readonly now: Date; readonly until: Date },
): Promise<(ImageClaim & SealedImage) | null> {
  const [image] = await claimedImages.claim<Record<'workspace_manifest' | 'home_manifest' | 'digest', string>>(
    db,
    by,
    1,
    [platform],
  )
  if (image === undefined) return null
  const { id, claim, workspace_manifest: workspaceManifest, home_manifest: homeManifest, digest } = image
  return { id, claim, workspaceManifest, homeManifest, digest }
}

/** Counts a trial in which no sandbox started, and keeps its claim. @returns how many there were; 0 if the claim is lost */
export async function countTrial(db: Queryable, { claim }: ImageClaim): Promise<number> {
  const { rows } = await db.query<{ trials: number }>({
    text: 'update environment_images set trials = trials + 1 where claim = $1 returning trials',
    values: [claim],
  })
  return rows[0]?.trials ?? 0
}

/** Records that an image was started once: later sandboxes start from it. */
export const recordStarted = (db: Queryable, { claim }: ImageClaim): Promise<unknown> =>
  claimedImages.release(db, claim, { state: 'ready' })

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
