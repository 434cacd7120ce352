import { BlobCorrupt, BlobMissing, type Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import { packBytes } from '@berth/supervisor/tree'
import { type Manifest, ManifestError, type Pack, type PackTable, parseManifest, readPackTable } from './manifest.ts'

/** Packs below this size count as small. */
const SMALL_BYTES = packBytes / 4
/** Number of small packs that a checkpoint may have before they are merged. */
const MAX_SMALL = 8
const STATS_AT_ONCE = 16

/** The checkpoint that a seal builds on. */
export interface Previous {
  readonly manifest: Manifest | undefined
  /** Its packs that the new checkpoint may share. */
  readonly table: PackTable
}

const noPacks: PackTable = { nextPack: 0, packs: [] }

/** No checkpoint to build on. */
export const nothingBefore: Previous = { manifest: undefined, table: noPacks }

/**
 * Reads the previous checkpoint for a seal to build on.
 *
 * @param compact share no pack
 */
export async function previousOf(manifest: Uint8Array, blobs: Blobs, compact: boolean): Promise<Previous> {
  try {
    const parsed = parseManifest(manifest)
    return { manifest: parsed, table: await reusablePacks(parsed, blobs, compact) }
  } catch (error) {
    if (error instanceof ManifestError) return nothingBefore
    throw error
  }
}

/**
 * Returns the packs of a checkpoint that the next one may share: those that the store still has at their size and that
 * are worth keeping. Content of the other packs is read from the tree and stored again.
 *
 * @param compact share no pack
 */
async function reusablePacks(manifest: Manifest, blobs: Blobs, compact: boolean): Promise<PackTable> {
  try {
    const table = await readPackTable(manifest, blobs)
    // Only the seal itself will know how much of each pack is in use now.
    if (compact) return { nextPack: table.nextPack, packs: [] }
    const present: Pack[] = []
    for (let at = 0; at < table.packs.length; at += STATS_AT_ONCE) {
      const some = table.packs.slice(at, at + STATS_AT_ONCE)
      const found = await Promise.all(some.map(pack => blobs.has(pack.sha256, pack.sizeBytes)))
      present.push(...some.filter((_, n) => found[n]))
    }
    return { nextPack: table.nextPack, packs: worthKeeping(present) }
  } catch (error) {
    if (error instanceof BlobMissing || error instanceof BlobCorrupt || error instanceof ManifestError) return noPacks
    throw error
  }
}

/**
 * Bounds waste. A pack of which less than half is in use is dropped, so stored content is at most twice the tree's.
 * Each seal of a few changes leaves a small pack; when too many have gathered, all small packs are dropped and their
 * content is merged. Merging n small packs costs less than the n seals that made them.
 */
function worthKeeping(packs: readonly Pack[]): readonly Pack[] {
  const kept = packs.filter(pack => pack.liveBytes * 2 >= pack.sourceBytes)
  const small = kept.filter(pack => pack.sourceBytes < SMALL_BYTES)
  return small.length > MAX_SMALL ? kept.filter(pack => pack.sourceBytes >= SMALL_BYTES) : kept
}
