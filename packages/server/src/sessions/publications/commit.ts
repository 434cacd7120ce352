import { join } from 'node:path'
import { emptyTreeOid } from '@berth/contract'
import { type CommitSigner, defaultIdentity, type GitIdentity } from '../../git/git-identity.ts'
import { type OwnRepository, openOwnRepository, takePack } from '../../git/own-repository.ts'
import { gitText, runGit } from '../../git/run-git.ts'
import { nobody } from '../../sandboxes/confined/confined.ts'
import type { Blobs } from '../../storage/blobs/blobs.ts'
import type { ReviewRow } from '../reviews/find-review.ts'
import { reviewBounds } from '../reviews/review-place.ts'
import type { PublicationRow } from './publication.ts'

/** A commit before it is signed. */
interface NewCommit {
  readonly tree: string
  /** `emptyTreeOid` for none. */
  readonly parent: string
  readonly author: GitIdentity
  readonly committer: GitIdentity
  readonly at: Date
  readonly message: string
}

/** Returns the message of a Publication's commit. */
export function messageOf({ title, body }: Pick<PublicationRow, 'title' | 'body'>): string {
  return body.trim() === '' ? title : `${title}\n\n${body.replaceAll('\r\n', '\n').trimEnd()}`
}

/** Returns a message with lines at its end such as `Signed-off-by: …`, where git and hosts look for them. */
export async function withTrailers(message: string, trailers: readonly string[], signal: AbortSignal): Promise<string> {
  if (trailers.length === 0) return message
  // No line is a comment, not even a heading of Markdown: git would put the trailers before one that ends the message.
  const args = ['-c', 'core.commentChar=\u0001', 'interpret-trailers', '--no-divider', '--if-exists=addIfDifferent']
  const options = trailers.flatMap(trailer => ['--trailer', trailer])
  return (await gitText([...args, ...options], { input: `${message}\n`, signal })).trimEnd()
}

/** Returns a commit as git writes it, signed if there is a signer. */
export async function signedCommit(commit: NewCommit, signer: CommitSigner | null): Promise<string> {
  const [head, rest] = partsOf(commit)
  if (signer === null) return head + rest
  const signature = (await signer.sign(head + rest)).trim()
  // The further lines of a header begin with a space.
  return `${head}gpgsig ${signature.replaceAll('\n', '\n ')}\n${rest}`
}

/** Returns the text of a commit before and after the place of its signature. */
function partsOf(commit: NewCommit): readonly [head: string, rest: string] {
  const { tree, parent, author, committer, at, message } = commit
  const stamp = (who: GitIdentity): string => `${who.name} <${who.email}> ${Math.floor(at.getTime() / 1000)} +0000`
  const parents = parent === emptyTreeOid ? '' : `parent ${parent}\n`
  const head = `tree ${tree}\n${parents}author ${stamp(author)}\ncommitter ${stamp(committer)}\n`
  return [head, `\n${message}\n`]
}

/** Returns the commit of a Publication that a release prepared which did not store commits. */
export function unsignedCommit(
  row: Pick<PublicationRow, 'title' | 'body' | 'created_at'>,
  tree: string,
  parent: string,
): string {
  const people = { author: defaultIdentity, committer: defaultIdentity }
  return partsOf({ tree, parent, ...people, at: row.created_at, message: messageOf(row) }).join('')
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
