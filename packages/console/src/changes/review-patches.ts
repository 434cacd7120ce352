import type { Review } from '@berth/client'
import { type FilePatch, parsePatch } from './patch.ts'

/**
 * Returns the part of the patch for each file of a review; null for the files whose lines are not in it whole. The last
 * part of a patch that was cut may lack lines, so it is left out.
 */
export function patchesOf(review: Review): readonly (FilePatch | null)[] {
  const all = parsePatch(review.patch)
  const patches = review.patchTruncated ? all.slice(0, -1) : all
  const byPath = new Map(patches.map(patch => [patch.path, patch]))
  // Both lists are git's, in one order. Another number of parts would give a file the lines of another.
  const inOrder = review.patchTruncated || patches.length === review.files.length
  return review.files.map(({ path }, at) => (inOrder ? patches[at] : undefined) ?? byPath.get(path) ?? null)
}
