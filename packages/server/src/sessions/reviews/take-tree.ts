import { join } from 'node:path'
import { Transform } from 'node:stream'
import { type OwnRepository, openLeft, openOwnRepository, takePack } from '../../git/own-repository.ts'
import { GitError } from '../../git/run-git.ts'
import { type ReviewPlace, ReviewRefused } from './review-place.ts'
import type { WrittenTree } from './write-tree.ts'

/** A tree of the workspace in a repository of the service's own. */
export interface TakenTree {
  /** Holds the new objects and borrows the mirror's. */
  readonly repository: OwnRepository
  readonly headTree: string
  /** The pack of what the base lacks; null where there is nothing. */
  readonly packPath: string | null
}

/**
 * Takes what the confined program wrote into a repository of the service's own. Every object is checked as `git fsck`
 * would, and so is that nothing they name is missing: a tree with `.git`, `..` or a `.gitmodules` that is a link is
 * refused, whoever made it.
 * @throws ReviewRefused, GitError
 */
export async function takeTree(
  place: ReviewPlace,
  written: WrittenTree,
  baseTree: string,
  signal: AbortSignal,
): Promise<TakenTree> {
  const { workspace, bwrap } = place
  const repository = await openOwnRepository(place.scratch, [join(place.mirror, 'objects')], {
    ...(workspace.uid !== undefined && { uid: workspace.uid }),
    ...(bwrap !== undefined && { bwrap }),
  })
  const { tree } = written
  if (tree === baseTree) {
    written.pack.resume()
    await written.ended()
    return { repository, headTree: tree, packPath: null }
  }
  let sizeBytes = 0
  const bounded = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sizeBytes += chunk.length
      done(sizeBytes > place.bounds.packBytes ? new ReviewRefused('the changes are too large') : null, chunk)
    },
  })
  written.pack.on('error', error => bounded.destroy(error))
  const input = written.pack.pipe(bounded)
  try {
    const packPath = await takePack(repository, input, { strict: true, bounds: place.bounds.git, signal })
    await written.ended()
    return { repository, headTree: tree, packPath }
  } catch (error) {
    written.pack.destroy()
    throw error instanceof GitError && error.reason === 'exit'
      ? new ReviewRefused(`git refuses the tree: ${error.stderr.trim()}`, { cause: error })
      : error
  }
}

/** The bytes of a pack, which a confined git has written. */
export async function readPack(path: string) {
  return (await openLeft(path)).createReadStream({ highWaterMark: 256 * 1024 })
}
