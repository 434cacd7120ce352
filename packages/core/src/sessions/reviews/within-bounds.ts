import { DiskBoundError, withinDisk } from '@berth/sandboxes/linux/disk-bound.ts'
import { GitError } from '../../git/run-git.ts'
import { overBound, type ReviewPlace, ReviewRefused } from './review-place.ts'

/**
 * Does the work of a review within its bounds of time and disk.
 * @throws ReviewRefused that names the bound which the work went over, an error of the work, or the signal's reason
 */
export async function withinBounds<T>(
  { scratch, bounds }: ReviewPlace,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = AbortSignal.timeout(bounds.timeMs)
  try {
    return await withinDisk(scratch, bounds.scratchBytes, AbortSignal.any([signal, late]), work)
  } catch (error) {
    signal.throwIfAborted()
    const over = boundOf(error, late)
    throw over === undefined ? error : new ReviewRefused(overBound(over), { cause: error })
  }
}

function boundOf(error: unknown, late: AbortSignal): string | undefined {
  if (late.aborted) return 'time'
  if (error instanceof DiskBoundError) return 'disk'
  return error instanceof GitError ? error.bound : undefined
}
