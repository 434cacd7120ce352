import { join } from 'node:path'
import type { Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import { nobody } from '@berth/sandboxes/confined/confined.ts'
import type { Conflict } from '../../checkpoints/brought.ts'
import { letWrite, mergeTrees, WORK_SIDE, writingTo } from '../../git/merge-trees.ts'
import { openOwnRepository, takePack } from '../../git/own-repository.ts'
import { gitText, runGit } from '../../git/run-git.ts'
import { readPath } from '../reviews/changes.ts'
import type { ReviewPlace } from '../reviews/review-place.ts'
import { putPack, startTaking } from '../reviews/take-tree.ts'
import { withinBounds } from '../reviews/within-bounds.ts'
import { writeTree } from '../reviews/write-tree.ts'
import type { Bring } from '../turns/bring.ts'

/** Commits to merge into a workspace, and from where they and the workspace come. */
export interface WorkMerge extends Bring {
  /** A commit of the mirror, or the tree of a review with its pack. */
  readonly from: string
  /** Digest of the blob with what the mirror lacks of `from`. */
  readonly fromPack: string | null
}

/** The workspace's tree before and after, and what git did not unite. */
export interface MergedWork {
  readonly before: string
  readonly after: string
  /** Digest of the blob with a pack of what the mirror lacks of both; null if there is nothing. */
  readonly pack: string | null
  readonly conflicts: readonly Conflict[]
  readonly conflictCount: number
  readonly submodules: readonly string[]
  /** Files that differ between the two. */
  readonly files: number
}

/** Somebody's commits on the branch of the work conflict with what the workspace holds. */
export class PushConflict extends Error {
  override readonly name = 'PushConflict'
  readonly conflicts: readonly Conflict[]

  constructor(conflicts: readonly Conflict[]) {
    super('the commits that somebody else pushed conflict with the workspace')
    this.conflicts = conflicts
  }
}

/** Most paths that are kept, and bytes of them: an agent reads them in its message. */
const MOST_PATHS = 200
const MOST_BYTES = 16 * 1024

/**
 * Merges commits into the tree of a workspace, one after another, and stores what is needed to place the result. The
 * workspace itself stays as it is. Its own repository counts for nothing: what the agent has committed and what it has not
 * are both in the files.
 * @param base the commit with which the workspace is compared
 * @throws PushConflict, ReviewRefused if the tree cannot be taken, GitError, or the signal's reason
 */
export async function mergeWork(
  place: ReviewPlace,
  blobs: Blobs,
  { base, merges }: { readonly base: string; readonly merges: readonly WorkMerge[] },
  signal: AbortSignal,
): Promise<MergedWork> {
  const { mirror, scratch, bounds } = place
  return withinBounds(place, signal, async within => {
    const repository = await openOwnRepository(scratch, [join(mirror, 'objects')], nobody)
    await letWrite(repository)
    const options = writingTo(repository, within)
    const over = new AbortController()
    const both = AbortSignal.any([within, over.signal])
    const taker = startTaking(repository, bounds, both)
    try {
      const baseTree = gitText(['rev-parse', '--verify', `${base}^{tree}`], { gitDir: mirror, signal: both })
      const written = await writeTree(place, baseTree, both)
      const { headTree: before } = await taker.take(written, await baseTree)
      let after = before
      const conflicts: Conflict[] = []
      for (const { kind, oid, from, fromPack } of merges) {
        if (fromPack !== null) {
          await takePack(repository, await blobs.get(fromPack), { strict: false, bounds: bounds.git, signal: within })
        }
        const names = { ours: WORK_SIDE, theirs: kind }
        const merged = await mergeTrees({ repository, from, ours: after, theirs: oid, names, signal: within })
        const found = merged.conflicts.map(({ path, kind: how }) => ({ path: readPath(path), kind: how }))
        if (kind === 'pushed' && found.length > 0) throw new PushConflict(bounded(found))
        conflicts.push(...found)
        after = merged.tree
      }
      const list = ['diff-tree', '-r', '-z', '--raw', '--no-renames', before, after]
      const { stdout } = await runGit(list, { ...options, maxOutputBytes: 128 * 1024 ** 2 })
      const changed = readChanged(stdout)
      return {
        before,
        after,
        pack: before === after ? null : await storePack(),
        conflicts: bounded(conflicts),
        conflictCount: conflicts.length,
        submodules: bounded(changed.filter(({ isLink }) => isLink)).map(({ path }) => path),
        files: changed.length,
      }

      async function storePack(): Promise<string | null> {
        const known = [base, ...merges.map(({ oid }) => oid)].map(oid => `^${oid}^{tree}`)
        const args = [
          'pack-objects',
          '--revs',
          '--quiet',
          '--threads=1',
          '--window=0',
          join(repository.packs, 'placed'),
        ]
        const name = await gitText(args, {
          ...options,
          view: { ...repository.view, writes: [repository.packs] },
          input: `${[after, before, ...known].join('\n')}\n`,
        })
        if (!/^[0-9a-f]{40}$/.test(name)) return null
        return (await putPack(blobs, join(repository.packs, `placed-${name}.pack`))).sha256
      }
    } finally {
      over.abort()
      await Promise.allSettled([taker.ended])
    }
  })
}

function bounded<T extends { readonly path: string }>(paths: readonly T[]): T[] {
  const kept: T[] = []
  let left = MOST_BYTES
  for (const one of paths.slice(0, MOST_PATHS)) {
    left -= Buffer.byteLength(one.path)
    if (left < 0) break
    kept.push(one)
  }
  return kept
}

/** Reads `diff-tree -z --raw --no-renames`: a head and a path for each change. */
function readChanged(output: Buffer): { readonly path: string; readonly isLink: boolean }[] {
  const changed: { path: string; isLink: boolean }[] = []
  for (let at = 0; at < output.length; ) {
    const head = output.indexOf(0, at)
    const end = output.indexOf(0, head + 1)
    if (head < 0 || end < 0) throw new Error('git cut its list of changes')
    const [, mode] = output.toString('latin1', at, head).split(' ')
    changed.push({ path: readPath(output.subarray(head + 1, end)), isLink: mode === '160000' })
    at = end + 1
  }
  return changed
}
