import { BlobCorrupt, BlobMissing, type BlobRef, type Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import { type Manifest, ManifestError, type PackTable, parseManifest, readPackTable } from './manifest.ts'

/** The kind of damage that a checkpoint has. */
export type CheckpointDamage = 'missing' | 'corrupt' | 'malformed'

const AT_ONCE = 8

/**
 * Returns every blob that a checkpoint names, for a collector to keep.
 *
 * @throws ManifestError, BlobMissing, BlobCorrupt if it is damaged, so that nobody can tell which blobs it named
 */
export async function blobsOf(manifest: Uint8Array, blobs: Blobs): Promise<readonly BlobRef[]> {
  const parsed = parseManifest(manifest)
  return namedBlobs(parsed, await readPackTable(parsed, blobs))
}

/** Returns the same for a manifest and a table that were read already. */
export function namedBlobs(manifest: Manifest, table: PackTable): readonly BlobRef[] {
  return [manifest.packs, ...manifest.index, ...table.packs].map(({ sha256, sizeBytes }) => ({ sha256, sizeBytes }))
}

/**
 * Checks if a checkpoint could be restored. By default its blobs must exist at their sizes. With `digests` they must
 * also match their digests, which reads all of them.
 *
 * @returns the damage, or undefined for a sound checkpoint
 */
export async function verifyCheckpoint(
  manifest: Uint8Array,
  blobs: Blobs,
  options: { readonly digests?: boolean; readonly signal?: AbortSignal } = {},
): Promise<CheckpointDamage | undefined> {
  try {
    const named = await blobsOf(manifest, blobs)
    for (let at = 0; at < named.length; at += AT_ONCE) {
      options.signal?.throwIfAborted()
      await Promise.all(named.slice(at, at + AT_ONCE).map(blob => verifyBlob(blob, blobs, options.digests === true)))
    }
    return undefined
  } catch (error) {
    const damage = damageOf(error)
    if (damage === undefined) throw error
    return damage
  }
}

/** Returns the damage that an error shows, or undefined if the error is not about the checkpoint. */
export function damageOf(error: unknown): CheckpointDamage | undefined {
  if (error instanceof BlobMissing) return 'missing'
  if (error instanceof BlobCorrupt) return 'corrupt'
  return error instanceof ManifestError ? 'malformed' : undefined
}

async function verifyBlob(blob: BlobRef, blobs: Blobs, digest: boolean): Promise<void> {
  const found = await blobs.stat(blob.sha256)
  if (found === undefined) throw new BlobMissing(blob.sha256)
  if (found.sizeBytes !== blob.sizeBytes) throw new BlobCorrupt(blob.sha256)
  if (!digest) return
  for await (const _chunk of await blobs.get(blob.sha256));
}
