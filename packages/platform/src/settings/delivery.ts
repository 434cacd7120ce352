import type { Fixed } from './fixed.ts'

/** Times of reviews, Publications and Merges. */
export interface DeliverySettings {
  /** Longest wait of a caller for a review. */
  readonly reviewWaitMs: number
  /** A Publication or a Merge fails if its Git host has not answered after this long. */
  readonly publicationMs: number
  /** Longest wait of a Merge for its pull request to become ready. */
  readonly mergeWaitMs: number
  /**
   * Delay before the second look at a pull request that is not ready. It doubles for each further look, up to a bound.
   */
  readonly mergeCheckMs: number
}

export const readDelivery = ({ reviewWaitMs, publicationMs, mergeWaitMs, mergeCheckMs }: Fixed): DeliverySettings => ({
  reviewWaitMs,
  publicationMs,
  mergeWaitMs,
  mergeCheckMs,
})
