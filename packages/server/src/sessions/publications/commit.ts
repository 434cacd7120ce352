import { join } from 'node:path'
import { openOwnRepository, takePack } from '../../git/own-repository.ts'
import { runGit } from '../../git/run-git.ts'
import { nobody } from '../../sandboxes/confined/confined.ts'
import type { Blobs } from '../../storage/blobs/blobs.ts'
import type { ReviewRow } from '../reviews/find-review.ts'
import { reviewBounds } from '../reviews/review-place.ts'
import type { PublicationRow } from './publication.ts'

/** Whose name a commit of the service bears. */
const IDENTITY = 'Berth <berth@localhost>'

/**
 * The commit of a Publication as git writes it. It is made of rows alone, so that whoever makes it again, after a crash
 * or on another host, makes the same: pushed twice is pushed once.
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

/** The name that git gives to the commit. */
export async function commitName(text: string, signal: AbortSignal): Promise<string> {
  const { stdout } = await runGit(['hash-object', '-t', 'commit', '--stdin'], { input: text, signal })
  return stdout.toString('latin1').trim()
}

/**
 * A repository with the commit in it: what the base has is borrowed from the mirror, what the review added comes from
 * its pack. Nothing of the sandbox is needed.
 */
export async function buildCommit(
  parts: { readonly blobs: Blobs; readonly scratch: string; readonly mirror: string; readonly signal: AbortSignal },
  review: ReviewRow,
  text: string,
): Promise<string> {
  const { signal } = parts
  const repository = await openOwnRepository(parts.scratch, [join(parts.mirror, 'objects')], nobody)
  const { gitDir } = repository
  if (review.pack_sha256 !== null) {
    const input = await parts.blobs.get(review.pack_sha256)
    await takePack(repository, input, { strict: false, bounds: reviewBounds.git, signal })
  }
  await runGit(['hash-object', '-t', 'commit', '-w', '--stdin'], { gitDir, input: text, signal })
  return gitDir
}
