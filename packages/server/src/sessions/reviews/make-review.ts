import { join } from 'node:path'
import type { Review } from '@berth/contract'
import { openOwnRepository } from '../../git/own-repository.ts'
import { gitText } from '../../git/run-git.ts'
import type { SessionKey } from '../../kit/session-key.ts'
import type { Blobs } from '../../storage/blobs/blobs.ts'
import { startComparing, type TreeComparer } from './changes.ts'
import type { ReviewPlace } from './review-place.ts'
import type { ReviewRow } from './review-sql.ts'
import { revisionOf } from './revision.ts'
import { readPack, startTaking, type TreeTaker } from './take-tree.ts'
import { withinBounds } from './within-bounds.ts'
import { type WrittenTree, writeTree } from './write-tree.ts'

/** The commit that a Session started from, and the branch that its work returns to. */
export interface Base {
  readonly baseOid: string
  readonly targetBranch: string
}

/** The stored document of a review; the row holds the time when it was first made. */
export type ReviewDocument = Omit<Review, 'createdAt'>

/**
 * Compares the workspace with its base and stores two blobs: the pack of new objects, which a delivery needs, and the
 * document that callers read. It writes nothing if `known` finds the revision.
 * @throws ReviewRefused, an error of the store, or the signal's reason
 */
export async function makeReview(
  place: ReviewPlace,
  key: SessionKey,
  base: Base,
  parts: {
    readonly blobs: Blobs
    readonly known: (revision: string) => Promise<ReviewRow | null>
    readonly now: Date
    readonly signal: AbortSignal
  },
): Promise<{ readonly row: ReviewRow; readonly isNew: boolean }> {
  const work = async ({ baseTree, written, taker, comparer }: Programs) => {
    const { headTree, packPath } = await taker.take(written, baseTree)
    const revision = revisionOf(key, { ...base, headTree })
    const known = await parts.known(revision)
    if (known !== null) return { row: known, isNew: false }
    const [changes, pack] = await Promise.all([
      comparer.compare(baseTree, headTree),
      packPath === null ? null : parts.blobs.put(await readPack(packPath)),
    ])
    const document: ReviewDocument = { revision, ...base, headTree, ...changes }
    const { sha256 } = await parts.blobs.put(Buffer.from(JSON.stringify(document)))
    const row = {
      revision,
      base_oid: base.baseOid,
      base_tree: baseTree,
      head_tree: headTree,
      target_branch: base.targetBranch,
      pack_sha256: pack?.sha256 ?? null,
      document_sha256: sha256,
      created_at: parts.now,
    }
    return { row, isNew: true }
  }
  return withinBounds(place, parts.signal, signal => withPrograms(place, base, signal, work))
}

/** The programs that make a review. */
interface Programs {
  readonly baseTree: string
  readonly written: WrittenTree
  readonly taker: TreeTaker
  readonly comparer: TreeComparer
}

/**
 * Starts all programs of a review together, and ends them after `use`. Each needs some 20 ms until it waits for its
 * input, half of that for its cgroup. The kernel lets programs that join at once wait together, and the writer works
 * meanwhile.
 */
async function withPrograms<T>(
  place: ReviewPlace,
  base: Base,
  signal: AbortSignal,
  use: (programs: Programs) => Promise<T>,
): Promise<T> {
  const { workspace, bwrap, mirror, scratch, bounds } = place
  const over = new AbortController()
  const within = AbortSignal.any([signal, over.signal])
  const ended: Promise<unknown>[] = []
  try {
    const baseTree = gitText(['rev-parse', '--verify', `${base.baseOid}^{tree}`], { gitDir: mirror, signal: within })
    const writing = writeTree(place, baseTree, within)
    // The caller gets the first failure; the other promise then fails because its program is ended.
    for (const each of [baseTree, writing]) each.catch(() => undefined)
    const repository = await openOwnRepository(scratch, [join(mirror, 'objects')], {
      ...(workspace.uid !== undefined && { uid: workspace.uid }),
      ...(bwrap !== undefined && { bwrap }),
    })
    const taker = startTaking(repository, bounds, within)
    const comparer = startComparing(repository, bounds, within)
    ended.push(baseTree, taker.ended, comparer.ended)
    return await use({ baseTree: await baseTree, written: await writing, taker, comparer })
  } finally {
    over.abort()
    await Promise.allSettled(ended)
  }
}
