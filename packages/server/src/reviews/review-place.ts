import type { TreePlace } from '../sandboxes/driver.ts'

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
}

/** The workspace holds what cannot be delivered, or nothing that could be looked at. */
export class ReviewRefused extends Error {
  override readonly name = 'ReviewRefused'
}

/** Bounds of one review. */
export const reviewBounds = {
  packBytes: 256 * 1024 ** 2,
  timeMs: 120_000,
  patchBytes: 1024 ** 2,
  listBytes: 32 * 1024 ** 2,
} as const
