import { join } from 'node:path'
import { nobody } from '@berth/sandboxes/confined/confined.ts'
import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import { openScratch } from '../../delivery/scratch.ts'
import type { DeliverySource } from '../../delivery/sources.ts'
import type { CommitSigner, GitIdentity } from '../../git/git-identity.ts'
import { type OwnRepository, openOwnRepository, takePack } from '../../git/own-repository.ts'
import { gitText, runGit } from '../../git/run-git.ts'
import { reviewBounds } from '../reviews/review-place.ts'
import type { ReviewRow } from '../reviews/review-sql.ts'
import type { PublicationRow } from './publication.ts'

/** A commit before it is signed. */
interface NewCommit {
  readonly tree: string
  /** The commits that it continues, the one of its branch first; none for the first commit of a repository. */
  readonly parents: readonly string[]
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
  const { tree, parents, author, committer, at, message } = commit
  const stamp = (who: GitIdentity): string => `${who.name} <${who.email}> ${Math.floor(at.getTime() / 1000)} +0000`
  const above = parents.map(parent => `parent ${parent}\n`).join('')
  const head = `tree ${tree}\n${above}author ${stamp(author)}\ncommitter ${stamp(committer)}\n`
  const rest = `\n${message}\n`
  if (signer === null) return head + rest
  const signature = (await signer.sign(head + rest)).trim()
  // The further lines of a header begin with a space.
  return `${head}gpgsig ${signature.replaceAll('\n', '\n ')}\n${rest}`
}

/** Returns the parents of a commit as git writes it. */
export function parentsIn(text: string): readonly string[] {
  const [header = ''] = text.split('\n\n', 1)
  return [...header.matchAll(/^parent ([0-9a-f]{40})$/gm)].map(([, oid = '']) => oid)
}

/** Returns the id that git gives to the commit. */
export async function commitName(text: string, signal: AbortSignal): Promise<string> {
  const { stdout } = await runGit(['hash-object', '-t', 'commit', '--stdin'], { input: text, signal })
  return stdout.toString('latin1').trim()
}

/** A repository of the service's own that goes with its use. */
export type ScratchRepository = OwnRepository & AsyncDisposable

/** Makes a repository that borrows the base's objects from the mirror. */
export async function openBorrowing(
  { sources, scratchDir }: Pick<DeliveryContext, 'sources' | 'scratchDir'>,
  source: DeliverySource,
  signal: AbortSignal,
): Promise<ScratchRepository> {
  const mirror = await sources.mirror(source, signal)
  await using stack = new AsyncDisposableStack()
  const { path } = stack.use(await openScratch(scratchDir))
  const repository = await openOwnRepository(path, [join(mirror, 'objects')], nobody)
  const kept = stack.move()
  return { ...repository, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

/**
 * Makes a repository that holds the trees of a review. It borrows the base's objects from the mirror and takes the
 * review's from its pack; it needs nothing of the sandbox.
 */
export async function openReviewed(
  context: Pick<DeliveryContext, 'sources' | 'scratchDir' | 'blobs'>,
  source: DeliverySource,
  review: ReviewRow,
  signal: AbortSignal,
): Promise<ScratchRepository> {
  await using stack = new AsyncDisposableStack()
  const repository = stack.use(await openBorrowing(context, source, signal))
  if (review.pack_sha256 !== null) {
    const input = await context.blobs.get(review.pack_sha256)
    await takePack(repository, input, { strict: false, bounds: reviewBounds.git, signal })
  }
  stack.move()
  return repository
}

/** Puts a commit into a repository that holds its tree. */
export async function addCommit({ gitDir }: OwnRepository, text: string, signal: AbortSignal): Promise<void> {
  await runGit(['hash-object', '-t', 'commit', '-w', '--stdin'], { gitDir, input: text, signal })
}
