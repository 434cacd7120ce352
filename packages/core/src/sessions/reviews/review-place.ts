import type { HelperBounds } from '@berth/sandboxes/helper-bounds.ts'
import type { LeaseScript, ProgramRun } from '@berth/sandboxes/lease-program.ts'

/** The paths and bounds of one review. */
export interface ReviewPlace {
  /** Starts a script at the files of the sandbox. */
  readonly run: (script: LeaseScript) => Promise<ProgramRun>
  /** A bare repository of the service that holds the base commit. */
  readonly mirror: string
  /** Its id for the sandbox. */
  readonly objects: string
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
  /** Size of all files that are written for a review, at the sandbox and here each. */
  readonly scratchBytes: number
  readonly timeMs: number
  readonly patchBytes: number
  readonly listBytes: number
  /** Of the changed files with their unchanged lines; the files beyond it are read from the patch. */
  readonly filesBytes: number
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
  filesBytes: 16 * MIB,
  comparedBytes: 4 * MIB,
  git: { memoryBytes: 512 * MIB, cpuSeconds: 120, fileBytes: 640 * MIB },
}
