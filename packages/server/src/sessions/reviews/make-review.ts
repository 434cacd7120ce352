import type { Review } from '@berth/contract'
import { gitText } from '../../git/run-git.ts'
import type { SessionKey } from '../../kit/session-key.ts'
import type { Blobs } from '../../storage/blobs/blobs.ts'
import { compareTrees } from './changes.ts'
import type { ReviewPlace } from './review-place.ts'
import type { ReviewRow } from './review-sql.ts'
import { revisionOf } from './revision.ts'
import { readPack, takeTree } from './take-tree.ts'
import { withinBounds } from './within-bounds.ts'
import { writeTree } from './write-tree.ts'

/** The commit that a Session started from, and the branch it means to go back to. */
export interface Base {
  readonly baseOid: string
  readonly targetBranch: string
}

/** A review as its document is kept; when it was first made is the row's to say. */
export type ReviewDocument = Omit<Review, 'createdAt'>

/**
 * Compares the workspace with its base and keeps what a delivery needs: the pack of new objects and the document that
 * callers read, both as blobs. Nothing is written for a revision that `known` finds.
 * @throws ReviewRefused, what the store throws, or the signal's reason
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
  return withinBounds(place, parts.signal, async signal => {
    const baseTree = await gitText(['rev-parse', '--verify', `${base.baseOid}^{tree}`], {
      gitDir: place.mirror,
      signal,
    })
    const taken = await takeTree(place, await writeTree(place, baseTree, signal), baseTree, signal)
    const { headTree } = taken
    const revision = revisionOf(key, { ...base, headTree })
    const known = await parts.known(revision)
    if (known !== null) return { row: known, isNew: false }
    const [changes, pack] = await Promise.all([
      compareTrees(taken.repository, [baseTree, headTree], place.bounds, signal),
      taken.packPath === null ? null : parts.blobs.put(await readPack(taken.packPath)),
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
  })
}
