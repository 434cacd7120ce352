import type { ReviewFile } from '@berth/contract'
import type { OwnRepository } from '../../git/own-repository.ts'
import { runGit } from '../../git/run-git.ts'
import { cutText, storable } from '../log/bounded-text.ts'
import type { ReviewBounds } from './review-place.ts'

/** A changed file that is a symbolic link now, and the blob of its target. */
export interface Link {
  readonly file: ReviewFile
  readonly oid: string
}

/** Most links whose targets are read; longer ones are cut, since no kernel follows them. */
const MOST = 1_000
const TARGET_BYTES = 4_096

/**
 * Sets the targets of symbolic links.
 * @throws GitError
 */
export async function setTargets(
  { gitDir, view }: OwnRepository,
  bounds: ReviewBounds,
  links: readonly Link[],
  signal: AbortSignal,
): Promise<void> {
  if (links.length === 0) return
  const named = links.slice(0, MOST)
  const { stdout } = await runGit(['cat-file', '--batch'], {
    ...{ gitDir, view, signal, bounds: bounds.git, timeoutMs: bounds.timeMs },
    input: named.map(({ oid }) => `${oid}\n`).join(''),
    maxOutputBytes: bounds.listBytes,
    cutsOutput: true,
  })
  let at = 0
  for (const { file } of named) {
    const begin = stdout.indexOf('\n', at) + 1
    const sizeBytes = Number(stdout.toString('latin1', at, begin).split(' ')[2])
    if (begin === 0 || !Number.isSafeInteger(sizeBytes) || begin + sizeBytes > stdout.length) return
    const target = storable(stdout.toString('utf8', begin, begin + sizeBytes))
    file.target = cutText(target, TARGET_BYTES).text
    at = begin + sizeBytes + 1
  }
}
