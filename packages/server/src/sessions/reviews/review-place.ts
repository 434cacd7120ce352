import type { HelperBounds } from '../../sandboxes/confined/helper-bounds.ts'
import type { TreePlace } from '../../sandboxes/driver.ts'

/** The paths and bounds of one review. */
export interface ReviewPlace {
  /** The workspace, on this host. */
  readonly workspace: TreePlace
  /** Name or path of the bubblewrap program. */
  readonly bwrap?: string
  /** A bare repository of the service that holds the base commit. */
  readonly mirror: string
  /** A directory of the service, for files that live as long as the review is made. */
  readonly scratch: string
  readonly bounds: ReviewBounds
}

/** Thrown if the workspace cannot be compared, or holds changes that cannot be delivered. */
export class ReviewRefused extends Error {
  override readonly name = 'ReviewRefused'
}

const MIB = 1024 ** 2

/** Returns the message for a review that goes over a bound. */
export const overBound = (bound: string) => `the changes go over a bound of reviews: ${bound}`

/** Bounds of one review. */
export interface ReviewBounds {
  /** Packed size of the objects that the base lacks. */
  readonly packBytes: number
  /** Size of all files that are written for a review. */
  readonly scratchBytes: number
  readonly timeMs: number
  readonly patchBytes: number
  readonly listBytes: number
  /** A larger file counts as binary: comparing lines takes some 43 bytes of memory for each byte of a file. */
  readonly comparedBytes: number
  /**
   * Bounds of each git. The one that writes the tree packs unchanged files as well, before it finds that the base has
   * them.
   */
  readonly git: HelperBounds
}

export const reviewBounds: ReviewBounds = {
  packBytes: 256 * MIB,
  scratchBytes: 640 * MIB,
  timeMs: 120_000,
  patchBytes: MIB,
  listBytes: 32 * MIB,
  comparedBytes: 4 * MIB,
  git: { memoryBytes: 512 * MIB, cpuSeconds: 120, fileBytes: 640 * MIB },
}
