import { join } from 'node:path'
import { type OwnRepository, openOwnRepository, takePack } from '../../git/own-repository.ts'
import { runGit } from '../../git/run-git.ts'
import { nobody } from '../../sandboxes/confined/confined.ts'
import type { Blobs } from '../../storage/blobs/blobs.ts'
import type { ReviewRow } from '../reviews/find-review.ts'
import { reviewBounds } from '../reviews/review-place.ts'
import type { PublicationRow } from './publication.ts'

/** Author and committer of the service's commits. */
const IDENTITY = 'Berth <berth@localhost>'

/**
 * Returns the commit of a Publication as git writes it. It depends on rows alone, so a repeat, after a crash or on
 * another host, makes the same commit: pushed twice is pushed once.
 */
export function commitText(
  row: Pick<PublicationRow, 'title' | 'body' | 'created_at'>,
  tree: string,
  parent: string,
): string {
  const who = `${IDENTITY} ${Math.floor(row.created_at.getTime() / 1000)} +0000`
  const message = row.body.trim() === '' ? row.title : `${row.title}\n\n${row.body.replaceAll('\r\n', '\n').trimEnd()}`
  return `tree ${tree}\nparent ${parent}\nauthor ${who}\ncommitter ${who}\n\n${message}\n`
}

/** Returns the id that git gives to the commit. */
export async function commitName(text: string, signal: AbortSignal): Promise<string> {
  const { stdout } = await runGit(['hash-object', '-t', 'commit', '--stdin'], { input: text, signal })
  return stdout.toString('latin1').trim()
}

/** What a repository with a review's objects is made of. */
interface CommitParts {
  readonly blobs: Blobs
  readonly scratch: string
  readonly mirror: string
  readonly signal: AbortSignal
}

/**
 * Makes a repository that holds the trees of a review. It borrows the base's objects from the mirror and takes the
 * review's from its pack; it needs nothing of the sandbox.
 */
export async function openReviewed(parts: CommitParts, review: ReviewRow): Promise<OwnRepository> {
  const repository = await openOwnRepository(parts.scratch, [join(parts.mirror, 'objects')], nobody)
  if (review.pack_sha256 !== null) {
    const input = await parts.blobs.get(review.pack_sha256)
    await takePack(repository, input, { strict: false, bounds: reviewBounds.git, signal: parts.signal })
  }
  return repository
}

/** Makes a repository that holds the commit, and returns its path. */
export async function buildCommit(parts: CommitParts, review: ReviewRow, text: string): Promise<string> {
  const { gitDir } = await openReviewed(parts, review)
  await runGit(['hash-object', '-t', 'commit', '-w', '--stdin'], { gitDir, input: text, signal: parts.signal })
  return gitDir
}
