import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import type { HostCache } from '@berth/platform/storage/host-cache.ts'
import type { LowerOwner } from '@berth/sandboxes/driver.ts'
import { usedBytes } from '@berth/sandboxes/linux/disk-bound.ts'
import { blobsOf, damageOf } from './check.ts'
import type { CheckpointLimits } from './limits.ts'
import { sha256Of } from './manifest.ts'
import { platformNames } from './platform-names.ts'
import { sealTree } from './seal-tree.ts'

const MANIFEST = 'manifest'
/** Returns the name of the seal of a checkout, as an entry of the cache over it. */
export const sealNameOf = (checkout: string): string => `seal-of-${checkout}`
/** A checkout takes at least a block for each file, and its baseline some hundred bytes. */
const BASELINE_SHARE = 8

/** A checkout as a checkpoint would hold it, before any Session has changed something. */
export interface BaseSeal {
  readonly manifest: Buffer
  /** The directory of its baseline, which holds for every sandbox that shows the checkout. */
  readonly baselines: string
}

/**
 * Seals of the checkouts that this host keeps. The first seal of a Session builds on that of its checkout, so it reads what
 * its agent has changed; the first fork compares with it instead of with the files.
 *
 * They hold what is in the commit and nothing of a Session, so a purge leaves nothing of one in their packs. No row names the
 * packs: they last while a checkpoint shares them, and a seal that has lost some is made again.
 */
export class BaseSeals {
  readonly #cache: HostCache
  readonly #blobs: Blobs

  constructor(cache: HostCache, blobs: Blobs) {
    this.#cache = cache
    this.#blobs = blobs
  }

  /** Returns the seal of a checkout, if this host has it; its packs may be gone. */
  async find(base: string): Promise<BaseSeal | null> {
    const path = await this.#cache.find(sealNameOf(base))
    const manifest = path === null ? null : await readFile(join(path, MANIFEST)).catch(() => null)
    return path === null || manifest === null ? null : { manifest, baselines: baselinesOf(path) }
  }

  /**
   * Returns the seal of a checkout, made now if it is missing, which reads every file that differs from the checkout below.
   * @returns null if the checkout is gone or over a cap
   * @throws what `sealTree` throws, HostFull, or the signal's reason
   */
  async provide(
    base: string,
    owner: LowerOwner,
    limits: CheckpointLimits,
    signal: AbortSignal,
  ): Promise<BaseSeal | null> {
    const layers = await this.#cache.layersOf(base)
    if (layers.length === 0) return null
    const name = sealNameOf(base)
    const found = await this.find(base)
    if (found !== null) {
      if (await this.#isStored(found.manifest)) return found
      await this.#cache.discard(name)
    }
    const bytes = Math.ceil(((await this.#cache.bytesOf(base)) ?? 0) / BASELINE_SHARE)
    const write = (fresh: string, within: AbortSignal) => this.#write(fresh, layers, owner, limits, within)
    await this.#cache.provide(name, bytes, write, signal, { base })
    return this.find(base)
  }

  async #write(
    fresh: string,
    layers: readonly string[],
    owner: LowerOwner,
    limits: CheckpointLimits,
    signal: AbortSignal,
  ): Promise<number> {
    const baselines = baselinesOf(fresh)
    const below = layers[1] === undefined ? null : await this.find(basename(layers[1]))
    const previous = below !== null && (await lendBaseline(below, baselines)) ? below.manifest : undefined
    const workspaces = layers.map(layer => join(layer, 'workspace'))
    const tree = await owner.layer(fresh, workspaces, baselines)
    const options = { tree, blobs: this.#blobs, limits, previous, skip: platformNames, excludeOverCap: [], signal }
    const sealed = await sealTree(options)
    if (sealed.kind === 'sealed') await writeFile(join(fresh, MANIFEST), sealed.manifest)
    // The layer was for reading alone.
    await rm(join(fresh, 'workspace'), { recursive: true })
    return await usedBytes(fresh)
  }

  async #isStored(manifest: Buffer): Promise<boolean> {
    try {
      const named = await blobsOf(manifest, this.#blobs)
      const there = await Promise.all(named.map(({ sha256, sizeBytes }) => this.#blobs.has(sha256, sizeBytes)))
      return there.every(Boolean)
    } catch (error) {
      if (damageOf(error) === undefined) throw error
      return false
    }
  }
}

/** Gives another tree over the same layers the baseline of a seal. @returns whether it was still there */
export async function lendBaseline({ manifest, baselines }: BaseSeal, to: string): Promise<boolean> {
  const name = sha256Of(manifest)
  await mkdir(to, { recursive: true, mode: 0o700 })
  return link(join(baselines, name), join(to, name)).then(
    () => true,
    () => false,
  )
}

const baselinesOf = (path: string): string => join(path, 'baselines', 'workspace')
