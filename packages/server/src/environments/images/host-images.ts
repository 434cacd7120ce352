import { createHash, randomUUID } from 'node:crypto'
import { chown, link, mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { imageLimits } from '../../checkpoints/limits.ts'
import { restoreTree } from '../../checkpoints/restore-tree.ts'
import type { LeaseTrees, LowerOwner, LowerTrees } from '../../sandboxes/driver.ts'
import { usedBytes } from '../../sandboxes/linux/disk-bound.ts'
import { errorCode, ignoring } from '../../sandboxes/linux/errors.ts'
import type { Blobs } from '../../storage/blobs/blobs.ts'
import type { SealedImage } from './image-sql.ts'

const trees = ['workspace', 'home'] as const
/** Begins the name of a directory that is being written or removed. */
const UNFINISHED = /^(?:new|old)-/
/** An image that was asked for within this time may be about to be used, and a directory may still be written. */
const RECENT_MS = 60 * 60_000

/** Returns the name of a pair of trees. */
export function digestOfTrees(workspaceManifest: string, homeManifest: string): string {
  return createHash('sha256').update(`${workspaceManifest}\0${homeManifest}`).digest('hex')
}

/**
 * The images that this host keeps as directories, for sandboxes to show below their own files. The blobs are the truth:
 * a directory that is missing is written again. It appears under its name only when it is whole.
 */
export class HostImages {
  readonly #dir: string
  readonly #blobs: Blobs
  readonly #bytes: number
  /** One process writes an image once, however many sandboxes want it. */
  readonly #writing = new Map<string, Promise<void>>()

  /** @param bytes of disk that images may take while no sandbox shows them */
  constructor(dir: string, blobs: Blobs, bytes: number) {
    this.#dir = dir
    this.#blobs = blobs
    this.#bytes = bytes
  }

  /**
   * Returns the trees of an image on this host, written now if they are missing.
   * @throws RestoreRefused
   */
  async provide(image: SealedImage, owner: LowerOwner): Promise<LowerTrees> {
    const path = join(this.#dir, image.digest)
    const now = new Date()
    // Its time keeps `tidy` away from a directory that is about to be used.
    const found = await ignoring(
      ['ENOENT'],
      utimes(path, now, now).then(() => true),
    )
    if (found !== true) await this.#write(image, owner)
    return { workspace: join(path, 'workspace'), home: join(path, 'home') }
  }

  /**
   * Lets the first seal of a lease that shows the image find all unchanged files. Without it the seal reads everything.
   */
  async shareBaseline({ digest }: SealedImage, lease: LeaseTrees): Promise<void> {
    const from = join(this.#dir, digest, 'baselines', 'workspace')
    const to = join(lease.baselines, 'workspace')
    await mkdir(to, { recursive: true, mode: 0o700 })
    for (const name of await readdir(from)) await link(join(from, name), join(to, name))
  }

  /**
   * Removes images that no sandbox of this host shows: those that are gone, then the least recently used ones while all
   * together are over a bound, and what a dead process left.
   * @returns how many directories it removed
   */
  async tidy(
    keep: { readonly known: ReadonlySet<string>; readonly shown: () => Promise<ReadonlySet<string>> },
    signal: AbortSignal,
  ): Promise<number> {
    const names = (await ignoring(['ENOENT'], readdir(this.#dir))) ?? []
    const idle: { name: string; usedAt: number; bytes: number }[] = []
    let total = 0
    let removed = 0
    const shown = await keep.shown()
    for (const name of names) {
      signal.throwIfAborted()
      const path = join(this.#dir, name)
      const usedAt = (await ignoring(['ENOENT'], stat(path)))?.mtimeMs ?? 0
      const bytes = await usedBytes(path)
      total += bytes
      if (!shown.has(name) && usedAt < Date.now() - RECENT_MS) idle.push({ name, usedAt, bytes })
    }
    for (const { name, bytes } of idle.toSorted((one, other) => one.usedAt - other.usedAt)) {
      if (keep.known.has(name) && total <= this.#bytes) continue
      await this.#remove(name)
      total -= bytes
      removed++
    }
    return removed
  }

  async #write(image: SealedImage, owner: LowerOwner): Promise<void> {
    const running = this.#writing.get(image.digest) ?? this.#writeOnce(image, owner)
    this.#writing.set(image.digest, running)
    try {
      await running
    } finally {
      this.#writing.delete(image.digest)
    }
  }

  async #writeOnce(image: SealedImage, owner: LowerOwner): Promise<void> {
    const fresh = join(this.#dir, `new-${randomUUID()}`)
    try {
      for (const tree of trees) {
        await mkdir(join(fresh, tree), { recursive: true, mode: 0o700 })
        await chown(join(fresh, tree), owner.uid, owner.uid)
      }
      const place = (tree: string) => ({ path: join(fresh, tree), uid: owner.uid })
      const target = { workspace: place('workspace'), home: place('home'), baselines: join(fresh, 'baselines') }
      await restoreImage(image, { ...target, program: owner.program }, this.#blobs)
      await rename(fresh, join(this.#dir, image.digest))
    } catch (error) {
      await rm(fresh, { recursive: true, force: true })
      // Another process wrote it first.
      if (!['EEXIST', 'ENOTEMPTY'].includes(errorCode(error) ?? '')) throw error
    }
  }

  async #remove(name: string): Promise<void> {
    const old = UNFINISHED.test(name) ? name : `old-${randomUUID()}`
    if (old !== name) await rename(join(this.#dir, name), join(this.#dir, old))
    await rm(join(this.#dir, old), { recursive: true, force: true })
  }
}

/**
 * Writes the trees of an image into empty ones.
 * @throws RestoreRefused, or the signal's reason
 */
export async function restoreImage(
  image: SealedImage,
  target: LeaseTrees,
  blobs: Blobs,
  options: { readonly skip?: readonly string[]; readonly signal?: AbortSignal } = {},
): Promise<void> {
  const manifests = { workspace: image.workspaceManifest, home: image.homeManifest }
  for (const tree of trees) {
    await restoreTree({
      program: target.program,
      manifest: Buffer.from(manifests[tree]),
      blobs,
      target: target[tree],
      limits: imageLimits,
      baselines: join(target.baselines, tree),
      ...(tree === 'workspace' && options.skip !== undefined && { skip: options.skip }),
      signal: options.signal,
    })
  }
}
