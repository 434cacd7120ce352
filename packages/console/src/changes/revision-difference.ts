import type { Review } from '@berth/client'
import type { FilePatch } from './patch.ts'
import { patchesOf } from './review-patches.ts'

/** One file that differs between two revisions of a Session's changes. */
export interface DifferentFile {
  readonly path: string
  /** Its places in both revisions; null if that revision leaves the file as it was. */
  readonly before: number | null
  readonly now: number | null
  /** False if the lines of a revision are not here and nothing else differs: it may be the same. */
  readonly compared: boolean
}

/**
 * Returns the files that a later revision has differently, or that could not be compared, in its order, then those that
 * it leaves as they were.
 */
export function differentFiles(before: Review, now: Review): readonly DifferentFile[] {
  const [old, fresh] = [contentsOf(before), contentsOf(now)]
  const found: DifferentFile[] = []
  for (const [path, is] of fresh) {
    const was = old.get(path)
    const compared = was?.listed !== is.listed || (was.content !== null && is.content !== null)
    if (!compared || was?.listed !== is.listed || was.content !== is.content)
      found.push({ path, before: was?.at ?? null, now: is.at, compared })
  }
  for (const [path, { at }] of old) if (!fresh.has(path)) found.push({ path, before: at, now: null, compared: true })
  return found
}

interface Contents {
  readonly at: number
  /** The file's entry in the list of files. */
  readonly listed: string
  /** Identifies the content; null if the content is not in the patch. */
  readonly content: string | null
}

function contentsOf(review: Review): Map<string, Contents> {
  const patches = patchesOf(review)
  return new Map(
    review.files.map((file, at) => {
      const { path, previousPath, status, additions, deletions, binary } = file
      const patch = patches[at] ?? null
      const listed = JSON.stringify([previousPath, status, additions, deletions, binary])
      return [path, { at, listed, content: patch && JSON.stringify([patch.hunks, patch.modes, patch.contents]) }]
    }),
  )
}

/** Returns whether two diffs of one file from one base lead to the same content and mode. */
export const leadToSame = (a: FilePatch, b: FilePatch): boolean =>
  JSON.stringify([a.modes, a.contents]) === JSON.stringify([b.modes, b.contents])

/** Returns a file's text on one side of a diff that has all of its lines. */
export function textOf(patch: FilePatch | undefined, side: 'before' | 'after'): string {
  const lines = patch?.hunks.flatMap(hunk => hunk.lines).filter(line => line[side] !== null) ?? []
  return lines.map(({ text }) => `${text}\n`).join('')
}
