import type { Review, ReviewFileDiff } from '@berth/contract'
import { readDocument, readWholeFiles } from '@berth/core/sessions/reviews/read-review.ts'
import { reviewBounds } from '@berth/core/sessions/reviews/review-place.ts'
import type { ReviewRow } from '@berth/core/sessions/reviews/review-sql.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import { splitPatch, withContext } from './file-patches.ts'

/** Longest diff of one file that is sent. */
const PATCH_CHARACTERS = 4 * 1024 * 1024

type Listed = Pick<Review, 'files'>

/**
 * Reads one file of a stored review, as the worker stored it with the review.
 * @throws ApiError 404 if the review has no such file
 */
export async function readReviewFile(
  blobs: Blobs,
  row: ReviewRow,
  at: { readonly number: number; readonly context: number },
): Promise<ReviewFileDiff> {
  const review = await readDocument(blobs, row)
  const file = review.files[at.number]
  if (file === undefined) throw refusal('cloud_session_not_found')
  const whole = await wholeFile(blobs, row, review, at.number)
  const patch = whole ?? partOf(review.patch, review.patchTruncated, review, at.number)
  const shown = whole === null || patch === null ? patch : withContext(patch, at.context)
  return {
    revision: review.revision,
    number: at.number,
    file,
    // A cut leaves no half of a character.
    patch: shown?.slice(0, PATCH_CHARACTERS).replace(/[\ud800-\udbff]$/u, '') ?? null,
    truncated: shown !== null && shown.length > PATCH_CHARACTERS,
    expandable: whole !== null,
  }
}

async function wholeFile(blobs: Blobs, row: ReviewRow, review: Listed, number: number): Promise<string | null> {
  const bytes = await readWholeFiles(blobs, row)
  if (bytes === null) return null
  return partOf(bytes.toString(), bytes.length >= reviewBounds.filesBytes, review, number)
}

function partOf(text: string, cut: boolean, review: Listed, number: number): string | null {
  const parts = splitPatch(text, cut)
  // A diff of another number of files would answer with another file's lines.
  if (!cut && parts.length !== review.files.length) return null
  return parts[number] ?? null
}
