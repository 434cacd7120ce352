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
  /** Time between two looks of a follow-up at its host. */
  readonly followPollMs: number
}

export const readDelivery = (fixed: Fixed): DeliverySettings => {
  const { reviewWaitMs, publicationMs, mergeWaitMs, mergeCheckMs, followPollMs } = fixed
  return { reviewWaitMs, publicationMs, mergeWaitMs, mergeCheckMs, followPollMs }
}
