import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { access, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { HostCache } from '@berth/platform/storage/host-cache.ts'
import type { LowerOwner, LowerTrees } from '@berth/sandboxes/driver.ts'
import { sealNameOf } from '../checkpoints/base-seals.ts'
import { type CheckoutNames, checkOut, digestOfNames } from '../git/check-out.ts'
import { changedPaths, sizeOfChanges, sizeOfCommit } from '../git/commit-size.ts'
import { type MirroredCommit, objectsOf } from './mirrors.ts'

/** Part of each name: another layout of the trees has another number. */
const FORMAT = 1
const PREFIX = 'checkout-'
/** Holds the digest of the names (branch, refs, origin) that the tree was made with. */
const NAMES = 'names'
/** A tree has at most this many layers. */
const MOST_LAYERS = 3
/** So many kept trees of a repository are compared with a commit before its tree is made. */
const MOST_BASES = 4
/** Of a tree that no Session has used for this long nothing is kept. */
const UNUSED_MS = 30 * 24 * 60 * 60_000
/**
 * Content that was not written to the disk before the machine lost its power may be missing, and would look like the
 * agent's change. So a tree counts until the machine starts again.
 */
const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8)

/** A commit to check out. */
export interface CheckoutOrder {
  readonly commit: MirroredCommit
  /** The bare repository that holds it. */
  readonly mirror: string
  /** Returns the names for a tree that is made now. */
  readonly names: () => Promise<CheckoutNames>
  /** Records that the tree is in use, before it is used. Absent: it is made for later. */
  readonly hold?: (name: string) => Promise<void>
}

/** A checkout on this host that sandboxes show below their own files. */
export interface Checkout {
  readonly lower: LowerTrees
  /** How it came: it was there, or was made of another commit's or in whole. */
  readonly origin: 'kept' | 'derived' | 'made'
  /** Tells its names from others: those of a Session are written into the sandbox if they are not the tree's. */
  readonly namesDigest: string
}

/**
 * Checkouts of commits that this host keeps as lower trees. The commit alone decides the files, so one tree serves all
 * branches at it. The name holds the organization: no other one is ever shown the tree.
 *
 * The next commit of a repository is a layer over the nearest kept tree if most files are the same. A layer names the
 * entry below it, which stays as long as the layer does. Trees share the bound of prebuilt images.
 */
export class Checkouts {
  readonly #cache: HostCache

  constructor(cache: HostCache) {
    this.#cache = cache
  }

  /** Returns the name of a commit's tree, under which a lease holds it. */
  nameOf(commit: MirroredCommit): string {
    return `${prefixOf(commit)}${commit.oid}`
  }

  /**
   * Returns the tree of a commit, made now if it is missing. A damaged one is made again if nobody uses it.
   * @throws CheckOutFailed, HostFull, GitError, or the signal's reason
   */
  async provide(order: CheckoutOrder, owner: LowerOwner, signal: AbortSignal): Promise<Checkout> {
    const name = this.nameOf(order.commit)
    const kept = await this.#find(name)
    if (kept === null) for (const gone of [sealNameOf(name), name]) await this.#cache.discard(gone)
    await order.hold?.(name)
    const origin = kept === null ? await this.#make(name, order, owner, signal) : 'kept'
    const layers = kept ?? (await this.#find(name))
    if (layers === null) throw new Error(`the checkout ${name} is damaged, and sandboxes use it`)
    const digest = await readFile(join(layers[0], NAMES), 'utf8').catch(() => '')
    const [top, ...below] = layers.map(path => join(workspaceOf(path), 'project'))
    if (top === undefined) throw new Error('unreachable')
    return {
      lower: { places: { project: [top, ...below] }, baselines: {}, commit: order.commit.oid },
      origin,
      namesDigest: digest,
    }
  }

  /** Returns whether this host has a tree of any commit of a repository. */
  async hasOne(repository: Omit<MirroredCommit, 'oid'>): Promise<boolean> {
    return (await this.#cache.list()).some(name => name.startsWith(prefixOf(repository)))
  }

  /** @returns the paths of a whole tree's entries, topmost first; null if there is none */
  async #find(name: string): Promise<readonly [string, ...string[]] | null> {
    const [top, ...below] = await this.#cache.layersOf(name)
    if (top === undefined) return null
    const own = ['index', 'HEAD', 'config', 'packed-refs'].map(file => join(workspaceOf(top), 'project/.git', file))
    const last = join(workspaceOf(below.at(-1) ?? top), 'project/.git/objects')
    const isWhole = await Promise.all([...own, last, ...below.map(workspaceOf)].map(path => access(path))).then(
      () => true,
      () => false,
    )
    return isWhole ? [top, ...below] : null
  }

  async #make(
    name: string,
    order: CheckoutOrder,
    owner: LowerOwner,
    signal: AbortSignal,
  ): Promise<'derived' | 'made' | 'kept'> {
    const { commit, mirror, names } = order
    const base = await this.#nearest(order, signal)
    const size =
      base === null
        ? await sizeOfCommit(mirror, commit.oid, signal)
        : await sizeOfChanges(mirror, base.changed, base.index.bytes, signal)
    let origin: 'derived' | 'made' | 'kept' = 'kept'
    const write = async (fresh: string, within: AbortSignal) => {
      const made = await names()
      const layers = (base?.layers ?? []).map(workspaceOf)
      await checkOut(
        {
          run: script => owner.run(fresh, layers, script),
          ...{ objects: objectsOf(mirror), names: made, isKept: true },
          files: base === null ? 'none' : { of: base.oid },
        },
        within,
      )
      await writeFile(join(fresh, NAMES), digestOfNames(made))
      origin = base === null ? 'made' : 'derived'
      return size.bytes
    }
    const needs = { inodes: size.inodes, ...(base !== null && { base: base.name }) }
    await this.#cache.provide(name, size.bytes, write, signal, needs)
    return origin
  }

  /** Returns the kept tree of the repository from which the fewest paths differ; null if none has most of the files. */
  async #nearest({ commit, mirror }: CheckoutOrder, signal: AbortSignal) {
    const prefix = prefixOf(commit)
    const names = (await this.#cache.list()).filter(name => name.startsWith(prefix)).slice(0, MOST_BASES)
    const bases = await Promise.all(
      names.map(async name => {
        const layers = await this.#find(name)
        if (layers === null || layers.length >= MOST_LAYERS) return []
        const oid = name.slice(prefix.length)
        const changed = await changedPaths(mirror, oid, commit.oid, signal)
        const index = await indexOf(layers[0])
        return changed === null || changed.size * 2 >= index.files ? [] : [{ name, oid, layers, changed, index }]
      }),
    )
    const [nearest] = bases.flat().toSorted((one, other) => one.changed.size - other.changed.size)
    return nearest ?? null
  }
}

/** Returns whether a tree that a lease shows is a checkout. */
export const isCheckout = (name: string): boolean => name.startsWith(PREFIX)

/** Returns whether an entry of the shared cache is a checkout, or the seal of one, that is worth its room. */
export function isLiveCheckout({ name, usedAt }: { readonly name: string; readonly usedAt: Date }): boolean {
  const prefix = `${PREFIX}${boot}-`
  const isOfBoot = name.startsWith(prefix) || name.startsWith(sealNameOf(prefix))
  return isOfBoot && usedAt.getTime() > Date.now() - UNUSED_MS
}

function prefixOf({ organizationId, host, repository }: Omit<MirroredCommit, 'oid'>): string {
  const parts = JSON.stringify([FORMAT, organizationId, host.id, repository.repositoryId])
  return `${PREFIX}${boot}-${createHash('sha256').update(parts).digest('hex').slice(0, 40)}-`
}

/** Returns what the header of a tree's index says, and its size. */
async function indexOf(entry: string): Promise<{ readonly files: number; readonly bytes: number }> {
  const index = await readFile(join(workspaceOf(entry), 'project/.git/index'))
  return { files: index.length < 12 ? 0 : index.readUInt32BE(8), bytes: index.length }
}

const workspaceOf = (entry: string): string => join(entry, 'workspace')
