import { Transform } from 'node:stream'
import type { BlobRef, Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import { type OwnRepository, openLeft, takePack } from '../../git/own-repository.ts'
import { GitError } from '../../git/run-git.ts'
import { overBound, type ReviewBounds, ReviewRefused } from './review-place.ts'
import type { WrittenTree } from './write-tree.ts'

/** A workspace's tree in the repository that took it. */
export interface TakenTree {
  readonly headTree: string
  /** The pack of the objects that the base lacks; null if there are none. */
  readonly packPath: string | null
  readonly notes: readonly string[]
}

/** A git that waits for a tree to take. */
export interface TreeTaker {
  /**
   * Takes a tree into the repository.
   * @throws ReviewRefused, GitError
   */
  take(written: WrittenTree, baseTree: string): Promise<TakenTree>
  /** Settles once git has ended. */
  readonly ended: Promise<unknown>
}

/**
 * Starts the git that takes the confined program's objects into a repository of the service's own. Git checks each one
 * as `git fsck` would, and that no object they name is missing. It refuses a tree with `.git`, `..` or a `.gitmodules`
 * that is a link, whoever made it.
 *
 * It starts beside the program that writes, because it needs some 20 ms until it reads its input.
 * @param signal ends it, even before it reads
 */
export function startTaking(repository: OwnRepository, bounds: ReviewBounds, signal: AbortSignal): TreeTaker {
  let sizeBytes = 0
  const input = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sizeBytes += chunk.length
      done(sizeBytes > bounds.packBytes ? new ReviewRefused(overBound('pack size')) : null, chunk)
    },
  })
  // The pack's promise rejects with the same error, even if the error comes before git reads.
  input.on('error', () => undefined)
  const packed = takePack(repository, input, { strict: true, bounds: bounds.git, timeoutMs: bounds.timeMs, signal })
  packed.catch(() => undefined)
  return {
    ended: packed,
    async take({ tree, pack, ended, end }, baseTree) {
      if (tree === baseTree) {
        pack.resume()
        return { headTree: tree, packPath: null, notes: await ended() }
      }
      try {
        pack.on('error', error => input.destroy(error)).pipe(input)
        const packPath = await packed
        return { headTree: tree, packPath, notes: await ended() }
      } catch (error) {
        pack.destroy()
        // What was cut off is refused as well.
        if (await end()) throw new ReviewRefused(overBound('disk'), { cause: error })
        throw error instanceof GitError && error.reason === 'exit'
          ? new ReviewRefused(`git refuses the tree: ${error.stderr.trim()}`, { cause: error })
          : error
      }
    },
  }
}

/** Stores a pack that a confined git has written. @throws an error of the store */
export async function putPack(blobs: Pick<Blobs, 'put'>, path: string): Promise<BlobRef> {
  const content = (await openLeft(path)).createReadStream({ highWaterMark: 256 * 1024 })
  try {
    return await blobs.put(content)
  } finally {
    // A store that fails before it reads leaves the file open.
    content.destroy()
  }
}
