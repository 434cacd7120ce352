import { wholeForms } from '@berth/platform/kit/redactor.ts'
import { ByteSearch } from '@berth/supervisor/tree/byte-search'
import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import type { DeliverySource } from '../../delivery/sources.ts'
import type { OwnRepository } from '../../git/own-repository.ts'
import { runGit } from '../../git/run-git.ts'
import { listSecretValues } from '../log/session-redactor.ts'
import { reviewBounds } from '../reviews/review-place.ts'
import type { ReviewRow } from '../reviews/review-sql.ts'
import { openReviewed } from './commit.ts'
import type { PublicationClaim } from './publication-sql.ts'

/** Git streams a longer file instead of reading it whole. */
const STREAMED_BYTES = 1024 ** 2
/** Of the list of changed files; longer than that of a review, because it pairs no renames. */
const LIST_BYTES = 2 * reviewBounds.listBytes

/**
 * Returns true if anything that a Publication delivers holds the value of a secret that a sandbox of the Session was
 * given: its branch, its title, its body, and the names and contents of the files that the review adds to its base. Contents are
 * searched as they stream by. A value under 8 characters is not searched for, as it is not masked.
 * @throws UnsealError, GitError, BlobMissing, BlobCorrupt, or the signal's reason
 */
export async function hasSecret(
  context: DeliveryContext,
  claim: PublicationClaim,
  source: DeliverySource,
  review: ReviewRow,
  signal: AbortSignal,
): Promise<boolean> {
  const secrets = await listSecretValues(context.db, claim)
  const search = new ByteSearch(secrets.flatMap(wholeForms).map(form => Buffer.from(form)))
  if (search.isEmpty) return false
  const { branch, title, body } = claim.row
  // The host gets the body's line ends as they are, and the commit gets plain ones.
  if ([branch, title, body, body.replaceAll('\r\n', '\n')].some(text => search.isIn(Buffer.from(text)))) return true
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
