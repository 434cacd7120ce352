import type { Environment } from './environment.ts'

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

export function readDelivery(env: Environment): DeliverySettings {
  return {
    reviewWaitMs: 60_000,
    publicationMs: 600_000,
    mergeWaitMs: 86_400_000,
    mergeCheckMs: env.duration(
      'BERTH_MERGE_CHECK_SECONDS',
      5,
      'First pause before a waiting Merge is checked again; it doubles each time, up to five minutes.',
    ),
  }
}
