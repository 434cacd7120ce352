import type { HelperBounds } from '../../sandboxes/confined/helper-bounds.ts'
import type { TreePlace } from '../../sandboxes/driver.ts'

/** Where a review finds what it compares. */
export interface ReviewPlace {
  /** The workspace, on this host. */
  readonly workspace: TreePlace
  /** Name or path of the bubblewrap program. */
  readonly bwrap?: string
  /** A bare repository of the service's that holds the base commit. */
  readonly mirror: string
  /** A directory of the service's, for what lives as long as the review is made. */
  readonly scratch: string
  readonly bounds: ReviewBounds
}

/** The workspace holds what cannot be delivered, or nothing that could be looked at. */
export class ReviewRefused extends Error {
  override readonly name = 'ReviewRefused'
}

const MIB = 1024 ** 2

/** How a review that ran into a bound is refused. */
export const overBound = (bound: string) => `the changes go over a bound of reviews: ${bound}`

/** Bounds of one review. */
export interface ReviewBounds {
  /** Of what the base lacks, as git packs it. */
  readonly packBytes: number
  /** Of all that is written for a review. */
  readonly scratchBytes: number
  readonly timeMs: number
  readonly patchBytes: number
  readonly listBytes: number
  /** A larger file counts as binary: comparing lines takes some 43 bytes of memory for each byte of a file. */
  readonly comparedBytes: number
  /** Of each git. The one that writes the tree packs unchanged files as well, before it finds that the base has them. */
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
