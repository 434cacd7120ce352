import type { Review } from '@berth/client'
import { type LineComment, type PlacedComment, placeComment } from './line-comments.ts'
import { type DiffLine, parsePatch } from './patch.ts'
import { patchesOf } from './review-patches.ts'

/** Reads one file of a review with every line that is kept. */
export type ReadWhole = (
  number: number,
) => Promise<{ readonly patch: string | null; readonly expandable: boolean; readonly truncated: boolean }>

/**
 * Finds the lines of comments in a review. A line that the patch lacks may be an unchanged one, or beyond the bound of the
 * patch, so its file is read whole. If it cannot be, nothing says that the line is gone.
 */
export async function placeComments(
  comments: readonly LineComment[],
  review: Review,
  readWhole: ReadWhole,
): Promise<readonly PlacedComment[]> {
  const patches = patchesOf(review)
  const places = new Map(review.files.map(({ path }, at) => [path, at]))
  const whole = new Map<number, Promise<readonly DiffLine[] | null>>()
  return Promise.all(
    comments.map(async comment => {
      const at = places.get(comment.path)
      if (at === undefined) return placeComment(comment, [], true)
      const placed = placeComment(comment, linesOf(patches[at] ?? null))
      if (placed.line !== null && !placed.moved) return placed
      const reading = whole.get(at) ?? wholeLines(at, readWhole)
      whole.set(at, reading)
      const lines = await reading
      return lines === null ? placed : placeComment(comment, lines, true)
    }),
  )
}

const linesOf = (patch: { readonly hunks: readonly { readonly lines: readonly DiffLine[] }[] } | null) =>
  patch?.hunks.flatMap(({ lines }) => lines) ?? []

async function wholeLines(at: number, readWhole: ReadWhole): Promise<readonly DiffLine[] | null> {
  try {
    const { patch, expandable, truncated } = await readWhole(at)
    return patch === null || !expandable || truncated ? null : linesOf(parsePatch(patch)[0] ?? null)
  } catch {
    // The comments are sent all the same.
    return null
  }
}
