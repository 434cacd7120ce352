import { createReadStream } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { GitError, runGit } from '../git/run-git.ts'
import { type ReviewPlace, ReviewRefused, reviewBounds } from './review-place.ts'
import type { WrittenTree } from './write-tree.ts'

/** A tree of the workspace in a repository of the service's own. */
export interface TakenTree {
  /** Bare; holds the new objects and borrows the mirror's. */
  readonly gitDir: string
  readonly headTree: string
  /** The pack of what the base lacks; null where there is nothing. */
  readonly packPath: string | null
}

/** A bare repository in a directory, without what `git init` costs, that borrows a mirror's objects. */
export async function borrowingRepository(directory: string, mirror: string): Promise<string> {
  const gitDir = join(directory, 'own.git')
  await mkdir(join(gitDir, 'objects/info'), { recursive: true, mode: 0o700 })
  await mkdir(join(gitDir, 'objects/pack'))
  await mkdir(join(gitDir, 'refs'))
  await writeFile(join(gitDir, 'HEAD'), 'ref: refs/heads/none\n')
  await writeFile(join(gitDir, 'config'), '[core]\n\trepositoryformatversion = 0\n\tbare = true\n')
  await writeFile(join(gitDir, 'objects/info/alternates'), `${join(mirror, 'objects')}\n`)
  return gitDir
}

/**
 * Takes what the confined program wrote into a repository of the service's own. Every object is checked as `git fsck`
 * would, and so is that nothing they name is missing: a tree with `.git`, `..` or a `.gitmodules` that is a link is
 * refused, whoever made it.
 * @throws ReviewRefused
 */
export async function takeTree(
  place: ReviewPlace,
  written: WrittenTree,
  baseTree: string,
  signal: AbortSignal,
): Promise<TakenTree> {
  const gitDir = await borrowingRepository(place.scratch, place.mirror)
  const { tree } = written
  if (tree === baseTree) {
    written.pack.resume()
    await written.ended()
    return { gitDir, headTree: tree, packPath: null }
  }
  let sizeBytes = 0
  const bounded = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sizeBytes += chunk.length
      done(sizeBytes > reviewBounds.packBytes ? new ReviewRefused('the changes are too large') : null, chunk)
    },
  })
  written.pack.on('error', error => bounded.destroy(error))
  const input = written.pack.pipe(bounded)
  try {
    await runGit(['index-pack', '--strict', '--stdin'], { gitDir, input, signal })
    await written.ended()
  } catch (error) {
    written.pack.destroy()
    throw error instanceof GitError && error.reason === 'exit'
      ? new ReviewRefused(`git refuses the tree: ${error.stderr.trim()}`, { cause: error })
      : error
  }
  const pack = (await readdir(join(gitDir, 'objects/pack'))).find(name => name.endsWith('.pack'))
  if (pack === undefined) throw new Error('index-pack left no pack')
  return { gitDir, headTree: tree, packPath: join(gitDir, 'objects/pack', pack) }
}

export const readPack = (path: string) => createReadStream(path, { highWaterMark: 256 * 1024 })
