import { readFileSync } from 'node:fs'
import { access, chown, link, lstat, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import type { HostCache } from '@berth/platform/storage/host-cache.ts'
import type { LowerOwner, LowerTrees } from '@berth/sandboxes/driver.ts'
import type { TreeName } from '@berth/sandboxes/lease-program.ts'
import { usedBytes } from '@berth/sandboxes/linux/disk-bound.ts'
import type { Tree } from '@berth/sandboxes/tree.ts'
import { BaseSeals, lendBaseline } from './base-seals.ts'
import { RestoreRefused } from './errors.ts'
import type { CheckpointLimits } from './limits.ts'
import { type Manifest, parseManifest, sha256Of } from './manifest.ts'
import { platformNames } from './platform-names.ts'
import { restoreTree } from './restore-tree.ts'

/** Part of each name: another layout of the trees has another number. */
const FORMAT = 1
const PREFIX = 'checkpoint-'
/** What a file system spends on a file, a directory or a link besides its bytes. */
const ENTRY_BYTES = 4096
/** A sandbox shows at most this many layers. */
const MOST_LAYERS = 3
/** A Session goes on from its next checkpoint; an older one is for forks, which come in bursts. */
const UNUSED_MS = 24 * 60 * 60_000
/**
 * A sandbox that is to show a whole workspace or home cannot be one that stands ready already, since processes stand there.
 * Fewer files are sooner written into a ready one: each takes 90 µs (`bench/forks.ts`, busy), and a sandbox made anew with its
 * agent takes 0.35 s longer.
 */
const FEW = 4000
/** Content that had not reached the disk when the machine lost its power may be missing. */
const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8)

/** A checkpoint to show. */
export interface CheckpointOrder {
  readonly organizationId: string
  readonly workspaceManifest: string
  readonly homeManifest: string | null
  readonly limits: Readonly<Record<TreeName, CheckpointLimits>>
  /** Name of the checkout that its Session started from; null: it has no repository. */
  readonly base: string | null
  /** Records that a tree is in use, before it is used. */
  readonly hold: (name: string) => Promise<void>
}

type Manifests = Readonly<Partial<Record<TreeName, string>>>

/**
 * Checkpoints that this host keeps as lower trees, so that many sandboxes start from one. If the Session's checkout stands
 * here too, only what differs from it is written, as a layer over it. Blobs are the truth, and a base is never named in a
 * checkpoint.
 *
 * Names hold the organization. Without it, the time that a start takes would tell one organization that another one has
 * a tree with the same content.
 */
export class CheckpointTrees {
  /** Seals of the checkouts themselves. */
  readonly bases: BaseSeals
  readonly #cache: HostCache
  readonly #blobs: Blobs

  constructor(cache: HostCache, blobs: Blobs) {
    this.#cache = cache
    this.#blobs = blobs
    this.bases = new BaseSeals(cache, blobs)
  }

  /**
   * Returns the trees of a checkpoint, written now if they are missing. Those that its baselines do not name have to be
   * restored into the sandbox.
   * @returns null if that is better for all of it
   * @throws RestoreRefused, ManifestError, HostFull, or the signal's reason
   */
  async provide(order: CheckpointOrder, owner: LowerOwner, signal: AbortSignal): Promise<LowerTrees | null> {
    const { base, hold, workspaceManifest, homeManifest } = order
    const isFew = (manifest: string | null) => manifest === null || entriesOf(parsed(manifest)) <= FEW
    if (base === null && isFew(workspaceManifest) && isFew(homeManifest)) return null
    const manifests: Manifests = {
      workspace: workspaceManifest,
      ...(homeManifest !== null && !isFew(homeManifest) && { home: homeManifest }),
    }
    const whole = nameOf(order, manifests, null)
    const layers = base === null ? [] : await this.#cache.layersOf(base)
    const canLie = base !== null && layers.length > 0 && layers.length < MOST_LAYERS
    if (canLie && (await this.#cache.find(whole)) === null) {
      const name = nameOf(order, manifests, base)
      await hold(name)
      try {
        const path = await this.#write(name, { order, manifests, owner, base, layers }, signal)
        return await shown(path, layers, manifests)
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof RestoreRefused) || error.code !== 'failed') throw error
      }
    }
    await hold(whole)
    return await shown(
      await this.#write(whole, { order, manifests, owner, base: null, layers: [] }, signal),
      [],
      manifests,
    )
  }

  #write(name: string, { order, manifests, owner, base, layers }: Making, signal: AbortSignal): Promise<string> {
    const parts = Object.values(manifests).map(parsed)
    const inodes = parts.reduce((sum, manifest) => sum + entriesOf(manifest), 0)
    const bytes = parts.reduce((sum, { sourceBytes }) => sum + sourceBytes, inodes * ENTRY_BYTES)
    const write = async (fresh: string, within: AbortSignal) => {
      const baselines = (tree: TreeName) => join(fresh, 'baselines', tree)
      const restore = (tree: TreeName, into: Tree, previous?: string) =>
        restoreTree({
          tree: into,
          manifest: Buffer.from(manifests[tree] ?? ''),
          blobs: this.#blobs,
          limits: order.limits[tree],
          ...(tree === 'workspace' && { skip: platformNames }),
          lower: tree === 'workspace' && base !== null ? 'over' : 'whole',
          previous,
          signal: within,
        })
      const previous = base === null ? undefined : await this.#lendBaseline(order, base, baselines('workspace'))
      const below = layers.map(layer => join(layer, 'workspace'))
      await restore('workspace', await owner.layer(fresh, below, baselines('workspace')), previous)
      if (manifests.home !== undefined) {
        const home = join(fresh, 'home')
        await mkdir(home, { mode: 0o700 })
        await chown(home, owner.uid, owner.uid)
        await restore('home', owner.tree(home, baselines('home')))
      }
      return base === null ? bytes : await usedBytes(fresh)
    }
    return this.#cache.provide(name, bytes, write, signal, { inodes, ...(base !== null && { base }) })
  }

  /**
   * Gives a layer the baseline of its base, or of the newest layer over it: both list the content of the base's files.
   * Without one all of them are read.
   * @returns the name of the baseline
   */
  async #lendBaseline(order: CheckpointOrder, base: string, directory: string): Promise<string | undefined> {
    const seal = await this.bases.find(base)
    if (seal !== null && (await lendBaseline(seal, directory))) return sha256Of(seal.manifest)
    const prefix = prefixOf(order, base)
    const newest = (await this.#cache.list()).find(name => name.startsWith(prefix))
    const path = newest === undefined ? null : await this.#cache.find(newest)
    if (path === null) return undefined
    const from = join(path, 'baselines/workspace')
    const [name] = await readdir(from).catch(() => [])
    if (name === undefined) return undefined
    await mkdir(directory, { recursive: true, mode: 0o700 })
    return link(join(from, name), join(directory, name)).then(
      () => name,
      () => undefined,
    )
  }
}

interface Making {
  readonly order: CheckpointOrder
  readonly manifests: Manifests
  readonly owner: LowerOwner
  readonly base: string | null
  /** Paths of the base's entries, topmost first. */
  readonly layers: readonly string[]
}

/** Returns whether an entry of the shared cache is a checkpoint that is worth its room. */
export function isLiveCheckpoint({ name, usedAt }: { readonly name: string; readonly usedAt: Date }): boolean {
  return name.startsWith(`${PREFIX}${boot}-`) && usedAt.getTime() > Date.now() - UNUSED_MS
}

/**
 * Returns where the trees of an entry show. A workspace that has only the repository's directory shows as that, which a
 * sandbox that stands ready can take.
 */
async function shown(path: string, layers: readonly string[], { home }: Manifests): Promise<LowerTrees> {
  const [workspace, ...below] = [path, ...layers].map(layer => join(layer, 'workspace'))
  if (workspace === undefined) throw new Error('unreachable')
  const project = join(workspace, 'project')
  const hasOnlyProject =
    (await readdir(workspace)).every(name => name === 'project') &&
    (await lstat(project).then(
      stats => stats.isDirectory(),
      () => below.length > 0,
    ))
  const own = await access(project).then(
    () => [project],
    () => [],
  )
  const [top, ...rest] = [...own, ...below.map(layer => join(layer, 'project'))]
  const baselineOf = (tree: TreeName) => join(path, 'baselines', tree)
  return {
    places: {
      ...(hasOnlyProject && top !== undefined ? { project: [top, ...rest] } : { workspace: [workspace, ...below] }),
      ...(home !== undefined && { home: [join(path, 'home')] }),
    },
    baselines: { workspace: baselineOf('workspace'), ...(home !== undefined && { home: baselineOf('home') }) },
  }
}

const digestOf = (value: unknown): string => sha256Of(Buffer.from(JSON.stringify(value))).slice(0, 40)

/** Layers over one base have one beginning of their names. */
const prefixOf = ({ organizationId }: CheckpointOrder, base: string | null): string =>
  `${PREFIX}${boot}-${digestOf([FORMAT, organizationId, base])}-`

const nameOf = (order: CheckpointOrder, { workspace, home }: Manifests, base: string | null): string =>
  `${prefixOf(order, base)}${digestOf([workspace, home ?? null])}`

const parsed = (manifest: string): Manifest => parseManifest(Buffer.from(manifest))

const entriesOf = ({ files, directories, links }: Manifest): number => files + directories + links
