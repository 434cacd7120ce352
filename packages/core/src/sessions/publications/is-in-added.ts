import type { ByteSearch } from '@berth/supervisor/tree/byte-search'
import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import type { DeliverySource } from '../../delivery/sources.ts'
import type { OwnRepository } from '../../git/own-repository.ts'
import { runGit } from '../../git/run-git.ts'
import { reviewBounds } from '../reviews/review-place.ts'
import type { ReviewRow } from '../reviews/review-sql.ts'
import { openReviewed } from './commit.ts'

/** Git streams a longer file instead of reading it whole. */
const STREAMED_BYTES = 1024 ** 2
/** Of the list of changed files; longer than that of a review, because it pairs no renames. */
const LIST_BYTES = 2 * reviewBounds.listBytes

/**
 * Returns true if one of the texts is in the names or contents of the files that a review adds to its base. Contents are
 * searched as they stream by, each behind a line break.
 * @throws GitError, BlobMissing, BlobCorrupt, or the signal's reason
 */
export async function isInAdded(
  context: DeliveryContext,
  source: DeliverySource,
  review: ReviewRow,
  search: ByteSearch,
  signal: AbortSignal,
): Promise<boolean> {
  await using repository = await openReviewed(context, source, review, signal)
  const added = await listAdded(repository, review, signal)
  if (added.names.some(name => search.isIn(name))) return true
  return await isInBlobs(repository, added.blobs, search, signal)
}

/** Returns the names of the files that a review adds, and the blobs that it adds or puts in place of others. */
async function listAdded(
  { gitDir, view }: OwnRepository,
  review: ReviewRow,
  signal: AbortSignal,
): Promise<{ readonly names: readonly Buffer[]; readonly blobs: readonly string[] }> {
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--no-abbrev', review.base_tree, review.head_tree]
  const { stdout } = await runGit(args, {
    ...{ gitDir, view, signal },
    ...{ maxOutputBytes: LIST_BYTES, bounds: reviewBounds.git, timeoutMs: reviewBounds.timeMs },
  })
  const names: Buffer[] = []
  const blobs = new Set<string>()
  const before = new Set<string>()
  for (let at = 0; at < stdout.length; ) {
    const [headEnd, nameEnd] = twoEnds(stdout, at)
    const [, mode, from = '', to = '', status] = stdout.toString('latin1', at, headEnd).split(' ')
    if (status === 'A') names.push(stdout.subarray(headEnd + 1, nameEnd))
    // A submodule's entry names a commit of another repository.
    if (status !== 'D' && mode !== '160000') blobs.add(to)
    before.add(from)
    at = nameEnd + 1
  }
  // A file that was only moved adds nothing.
  return { names, blobs: [...blobs.difference(before)] }
}

/** Returns the ends of the next two fields. */
function twoEnds(fields: Buffer, at: number): readonly [number, number] {
  const first = fields.indexOf(0, at)
  const second = fields.indexOf(0, first + 1)
  if (first < 0 || second < 0) throw new Error('git told a change without a name')
  return [first, second]
}

async function isInBlobs(
  { gitDir, view }: OwnRepository,
  blobs: readonly string[],
  search: ByteSearch,
  signal: AbortSignal,
): Promise<boolean> {
  const find = search.stream()
  let found = false
  await runGit(['-c', `core.bigFileThreshold=${STREAMED_BYTES}`, 'cat-file', '--batch=%(objectsize)', '--buffer'], {
    ...{ gitDir, view, signal },
    ...{ bounds: reviewBounds.git, timeoutMs: reviewBounds.timeMs },
    input: blobs.map(oid => `${oid}\n`).join(''),
    take: piece => {
      found = find(piece)
      return found
    },
  })
  return found
}
