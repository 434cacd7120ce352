import type { Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import type { TreeName } from '@berth/sandboxes/lease-program.ts'
import type { Tree } from '@berth/sandboxes/tree.ts'
import { blobsOf } from '../../checkpoints/check.ts'
import { SecretFound } from '../../checkpoints/errors.ts'
import type { CheckpointLimits } from '../../checkpoints/limits.ts'
import type { OverCap } from '../../checkpoints/over-cap.ts'
import { clearTarget, restoreTree } from '../../checkpoints/restore-tree.ts'
import { type SealedTree, sealTree } from '../../checkpoints/seal-tree.ts'
import type { CacheRow, NewCache } from './cache-sql.ts'

/** The trees of a sandbox, and what is cached of them. */
export interface CachePlace {
  readonly trees: Readonly<Record<TreeName, Tree>>
  readonly blobs: Blobs
  /** The document's paths. */
  readonly paths: readonly string[]
  readonly limits: CheckpointLimits
  readonly signal: AbortSignal
}

/** A cache that is whole in the blob store; or the reason why it was not saved, and the first path to blame. */
export type SealedCache =
  | ({ readonly kind: 'sealed' } & Pick<NewCache, 'home_manifest' | 'workspace_manifest' | 'blobs'>)
  | { readonly kind: 'secret' | 'size'; readonly path: string }

const names = ['home', 'workspace'] as const

/** Paths of the home begin with this; the others lie in the workspace. */
const HOME = '~/'

/** Returns the paths of a tree, without its own. */
export function pathsIn(tree: TreeName, paths: readonly string[]): readonly string[] {
  if (tree === 'workspace') return paths.filter(path => !path.startsWith(HOME))
  return paths.filter(path => path.startsWith(HOME)).map(path => path.slice(HOME.length))
}

/**
 * Puts a cache into a sandbox in which no agent was started. Paths that exist are left as they are. After a failure
 * nothing of the cache is there.
 * @throws RestoreRefused, or the signal's reason
 */
export async function restoreCache(place: CachePlace, cache: CacheRow): Promise<void> {
  const { blobs, limits, signal } = place
  const undo: (() => Promise<void>)[] = []
  try {
    for (const name of names) {
      const manifest = cache[`${name}_manifest`]
      if (manifest === null) continue
      const tree = place.trees[name]
      const { placed } = await restoreTree({
        ...{ tree, blobs, limits, signal },
        manifest: Buffer.from(manifest),
        only: pathsIn(name, place.paths),
      })
      undo.push(() => clearTarget(tree, { keep: [], only: placed }))
    }
  } catch (error) {
    for (const clear of undo) await clear()
    throw error
  }
}

/**
 * Seals the cached paths of a sandbox. Both trees together keep to the limits.
 * @param secrets texts that nothing of it may hold
 * @param previous a cache whose content was searched for the same secrets: what was restored from it and has not changed
 * is not read again
 * @throws SealFailed, an error of the store, or the signal's reason
 */
export async function sealCache(
  place: CachePlace,
  secrets: readonly string[],
  previous: CacheRow | null,
): Promise<SealedCache> {
  const { blobs, limits, signal } = place
  const sealed: Partial<Record<TreeName, SealedTree>> = {}
  let left = limits
  for (const name of names) {
    const only = pathsIn(name, place.paths)
    if (only.length === 0) continue
    const before = previous?.[`${name}_manifest`] ?? null
    const result = await sealTree({
      ...{ tree: place.trees[name], blobs, limits: left, signal, only, secrets },
      ...{ exclude: [], excludeOverCap: [] },
      ...(before !== null && { previous: Buffer.from(before) }),
    }).catch(error => {
      if (error instanceof SecretFound) return error
      throw error
    })
    const prefix = name === 'home' ? HOME : ''
    if (result instanceof SecretFound) return { kind: 'secret', path: prefix + result.path }
    if (result.kind === 'over_cap') return { kind: 'size', path: prefix + overlong(result, only) }
    if (result.files + result.links === 0) continue
    sealed[name] = result
    left = {
      ...left,
      storedBytes: left.storedBytes - result.storedBytes,
      files: left.files - result.files - result.links - result.directories,
    }
  }
  const manifests = names.flatMap(name => sealed[name]?.manifest ?? [])
  const named = await Promise.all(manifests.map(manifest => blobsOf(manifest, blobs)))
  return {
    kind: 'sealed',
    home_manifest: sealed.home?.manifest.toString() ?? null,
    workspace_manifest: sealed.workspace?.manifest.toString() ?? null,
    blobs: [...new Set(named.flat().map(({ sha256 }) => sha256))],
  }
}

/** Returns the cached path with which a tree went over its limits; the first one if nobody can tell. */
function overlong({ path }: OverCap, only: readonly string[]): string {
  return only.find(root => path === root || path?.startsWith(`${root}/`)) ?? only[0] ?? ''
}
