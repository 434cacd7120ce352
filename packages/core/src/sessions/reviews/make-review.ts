import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Review } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import { nobody } from '@berth/sandboxes/confined/confined.ts'
import { type OwnRepository, openOwnRepository } from '../../git/own-repository.ts'
import { gitText } from '../../git/run-git.ts'
import { compareWhole, startComparing, type TreeComparer } from './changes.ts'
import type { ReviewPlace } from './review-place.ts'
import type { ReviewRow } from './review-sql.ts'
import { revisionOf } from './revision.ts'
import { putPack, startTaking, type TreeTaker } from './take-tree.ts'
import { withinBounds } from './within-bounds.ts'
import { type WrittenTree, writeTree } from './write-tree.ts'

/** The commit that a Session started from, and the branch that its work returns to. */
export interface Base {
  readonly baseOid: string
  readonly targetBranch: string
}

/** The stored document of a review; the row holds the time when it was first made, and signals are found at each reading. */
export type ReviewDocument = Omit<Review, 'createdAt' | 'signals'>

/**
 * Compares the workspace with its base and stores two blobs: the pack of new objects, which a delivery needs, and the
 * document that callers read. It writes nothing if `known` finds the revision or throws. After `made` has answered, it stores the
 * changed files with their unchanged lines, for those who read on.
 * @returns the row with everything that is stored
 * @throws ReviewRefused, an error of the store, of `known` or `made`, or the signal's reason
 */
export async function makeReview(
  place: ReviewPlace,
  key: SessionKey,
  base: Base,
  parts: {
    readonly blobs: Blobs
    readonly known: (revision: string, isChanged: boolean) => Promise<ReviewRow | null>
    /** Stores the revision and answers for it. The files with their unchanged lines follow, and nobody waits for them. */
    readonly made: (row: ReviewRow) => Promise<void>
    readonly now: Date
    readonly signal: AbortSignal
  },
): Promise<ReviewRow> {
  const work = async ({ baseTree, written, taker, comparer, repository }: Programs, signal: AbortSignal) => {
    const { headTree, packPath, notes } = await taker.take(written, baseTree)
    const revision = revisionOf(key, { ...base, headTree })
    const known = await parts.known(revision, headTree !== baseTree)
    if (known !== null) {
      await parts.made(known)
      return known
    }
    const stored = packPath === null ? null : putPack(parts.blobs, packPath)
    const [changes, pack] = await Promise.all([comparer.compare(baseTree, headTree), stored])
    const document: ReviewDocument = { revision, ...base, headTree, ...changes, notes: [...notes] }
    const { sha256 } = await parts.blobs.put(Buffer.from(JSON.stringify(document)))
    const row: ReviewRow = {
      revision,
      base_oid: base.baseOid,
      base_tree: baseTree,
      head_tree: headTree,
      target_branch: base.targetBranch,
      pack_sha256: pack?.sha256 ?? null,
      pack_dropped_at: null,
      document_sha256: sha256,
      files_sha256: null,
      created_at: parts.now,
      files: changes.files.length,
      additions: changes.additions,
      deletions: changes.deletions,
    }
    await parts.made(row)
    if (changes.files.length === 0) return row
    const whole = await compareWhole(repository, place.bounds, { before: baseTree, after: headTree, signal })
    const files = await parts.blobs.put(await compress(whole))
    return { ...row, files_sha256: files.sha256 }
  }
  return withinBounds(place, parts.signal, signal => withPrograms(place, base, signal, work))
}

const compress = promisify(gzip)

/** The programs that make a review. */
interface Programs {
  readonly baseTree: string
  readonly written: WrittenTree
  readonly taker: TreeTaker
  readonly comparer: TreeComparer
  /** Has both trees once the taker has taken one. */
  readonly repository: OwnRepository
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
  use: (programs: Programs, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { mirror, scratch, bounds } = place
  const over = new AbortController()
  const within = AbortSignal.any([signal, over.signal])
  const ended: Promise<unknown>[] = []
  try {
    const baseTree = gitText(['rev-parse', '--verify', `${base.baseOid}^{tree}`], { gitDir: mirror, signal: within })
    const writing = writeTree(place, baseTree, within)
    // The caller gets the first failure; the other promise then fails because its program is ended.
    for (const each of [baseTree, writing]) each.catch(() => undefined)
    const repository = await openOwnRepository(scratch, [join(mirror, 'objects')], nobody)
    const taker = startTaking(repository, bounds, within)
    const comparer = startComparing(repository, bounds, within)
    ended.push(baseTree, taker.ended, comparer.ended)
    return await use({ baseTree: await baseTree, written: await writing, taker, comparer, repository }, within)
  } finally {
    over.abort()
    await Promise.allSettled(ended)
  }
}
