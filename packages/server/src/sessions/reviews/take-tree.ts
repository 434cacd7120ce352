import { Transform } from 'node:stream'
import { type OwnRepository, openLeft, takePack } from '../../git/own-repository.ts'
import { GitError } from '../../git/run-git.ts'
import { type ReviewBounds, ReviewRefused } from './review-place.ts'
import type { WrittenTree } from './write-tree.ts'

/** A tree of the workspace in the repository that took it. */
export interface TakenTree {
  readonly headTree: string
  /** The pack of what the base lacks; null where there is nothing. */
  readonly packPath: string | null
}

/** Git that waits to take a tree. */
export interface TreeTaker {
  /** @throws ReviewRefused, GitError */
  take(written: WrittenTree, baseTree: string): Promise<TakenTree>
  /** Settles once git is gone. */
  readonly ended: Promise<unknown>
}

/**
 * Starts the git that takes what the confined program writes into a repository of the service's own. Every object is
 * checked as `git fsck` would, and so is that nothing they name is missing: a tree with `.git`, `..` or a `.gitmodules`
 * that is a link is refused, whoever made it.
 *
 * It starts beside the program that writes, because it takes some 20 ms until it reads its input.
 * @param signal ends it, whether it has begun to read or not
 */
export function startTaking(repository: OwnRepository, bounds: ReviewBounds, signal: AbortSignal): TreeTaker {
  let sizeBytes = 0
  const input = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sizeBytes += chunk.length
      done(sizeBytes > bounds.packBytes ? new ReviewRefused('the changes are too large') : null, chunk)
    },
  })
  // The error goes with the pack's promise, also if it comes before git reads.
  input.on('error', () => undefined)
  const packed = takePack(repository, input, { strict: true, bounds: bounds.git, timeoutMs: bounds.timeMs, signal })
  packed.catch(() => undefined)
  return {
    ended: packed,
    async take({ tree, pack, ended }, baseTree) {
      if (tree === baseTree) {
        pack.resume()
        await ended()
        return { headTree: tree, packPath: null }
      }
      try {
        pack.on('error', error => input.destroy(error)).pipe(input)
        const packPath = await packed
        await ended()
        return { headTree: tree, packPath }
      } catch (error) {
        pack.destroy()
        throw error instanceof GitError && error.reason === 'exit'
          ? new ReviewRefused(`git refuses the tree: ${error.stderr.trim()}`, { cause: error })
          : error
      }
    },
  }
}

/** The bytes of a pack, which a confined git has written. */
export async function readPack(path: string) {
  return (await openLeft(path)).createReadStream({ highWaterMark: 256 * 1024 })
}
