import { createHash } from 'node:crypto'
import { chown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import { type HostCache, HostFull } from '@berth/platform/storage/host-cache.ts'
import type { LowerOwner, LowerTrees } from '@berth/sandboxes/driver.ts'
import type { TreeName } from '@berth/sandboxes/lease-program.ts'
import { usedBytes } from '@berth/sandboxes/linux/disk-bound.ts'
import type { Tree } from '@berth/sandboxes/tree.ts'
import { isLiveCheckpoint } from '../../checkpoints/checkpoint-trees.ts'
import { RestoreRefused } from '../../checkpoints/errors.ts'
import { imageLimits } from '../../checkpoints/limits.ts'
import { type Manifest, ManifestError, parseManifest } from '../../checkpoints/manifest.ts'
import { restoreTree } from '../../checkpoints/restore-tree.ts'
import { isLiveCheckout } from '../../repositories/checkouts.ts'
import type { SealedImage } from './image-sql.ts'

const trees = ['workspace', 'home'] as const
/** What a file system spends on a file, a directory or a link besides its bytes. */
const ENTRY_BYTES = 4096

/** Returns the name of a pair of trees. */
export function digestOfTrees(workspaceManifest: string, homeManifest: string): string {
  return createHash('sha256').update(`${workspaceManifest}\0${homeManifest}`).digest('hex')
}

/**
 * The images that this host keeps as directories, for sandboxes to show below their own files. The blobs are the truth:
 * a directory that is missing is written again.
 */
export class HostImages {
  readonly #cache: HostCache
  readonly #blobs: Blobs

  constructor(cache: HostCache, blobs: Blobs) {
    this.#cache = cache
    this.#blobs = blobs
  }

  /**
   * Returns the trees of an image on this host, written now if they are missing.
   * @throws RestoreRefused, HostFull, or the signal's reason
   */
  async provide(image: SealedImage, owner: LowerOwner, signal: AbortSignal): Promise<LowerTrees> {
    const write = (fresh: string, within: AbortSignal) => this.#write(fresh, image, owner, within)
    const { bytes, inodes } = sizeOfImage(image)
    const path = await this.#cache.provide(image.digest, bytes, write, signal, { inodes })
    return {
      places: { workspace: [join(path, 'workspace')], home: [join(path, 'home')] },
      baselines: { workspace: join(path, 'baselines', 'workspace'), home: join(path, 'baselines', 'home') },
    }
  }

  /** Removes images that are gone, checkouts out of use, and whatever there is no room for. @returns how many directories it removed */
  async tidy(known: ReadonlySet<string>, signal: AbortSignal): Promise<number> {
    return await this.#cache.tidy(
      entry => known.has(entry.name) || isLiveCheckout(entry) || isLiveCheckpoint(entry),
      signal,
    )
  }

  async #write(fresh: string, image: SealedImage, owner: LowerOwner, signal: AbortSignal): Promise<number> {
    for (const tree of trees) {
      await mkdir(join(fresh, tree), { mode: 0o700 })
      await chown(join(fresh, tree), owner.uid, owner.uid)
    }
    const tree = (name: TreeName) => owner.tree(join(fresh, name), join(fresh, 'baselines', name))
    try {
      await restoreImage(image, tree, this.#blobs, { signal })
    } catch (error) {
      // The disk that is full is this host's, whatever its bound says.
      const isFull = error instanceof RestoreRefused && error.code === 'target_full'
      throw isFull ? new HostFull('the disk of this host is full', { cause: error }) : error
    }
    return await usedBytes(fresh)
  }
}

/** Returns the bytes that the trees of an image take at most. @throws RestoreRefused */
export const bytesOfImage = (image: SealedImage): number => sizeOfImage(image).bytes

function sizeOfImage({ workspaceManifest, homeManifest }: SealedImage): { bytes: number; inodes: number } {
  let [bytes, inodes] = [0, 0]
  for (const text of [workspaceManifest, homeManifest]) {
    const { sourceBytes, files, directories, links } = parsed(text)
    inodes += files + directories + links
    bytes += sourceBytes + (files + directories + links) * ENTRY_BYTES
  }
  return { bytes, inodes }
}

function parsed(manifest: string): Manifest {
  try {
    return parseManifest(Buffer.from(manifest))
  } catch (error) {
    if (error instanceof ManifestError) throw new RestoreRefused('malformed', error.message, { cause: error })
    throw error
  }
}

/**
 * Writes the trees of an image into empty ones.
 * @throws RestoreRefused, or the signal's reason
 */
export async function restoreImage(
  image: SealedImage,
  treeOf: (name: TreeName) => Tree,
  blobs: Blobs,
  options: { readonly skip?: readonly string[]; readonly signal?: AbortSignal } = {},
): Promise<void> {
  const manifests = { workspace: image.workspaceManifest, home: image.homeManifest }
  for (const name of trees) {
    await restoreTree({
      tree: treeOf(name),
      manifest: Buffer.from(manifests[name]),
      blobs,
      limits: imageLimits,
      ...(name === 'workspace' && options.skip !== undefined && { skip: options.skip }),
      signal: options.signal,
    })
  }
}
