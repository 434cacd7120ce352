import type { Environment } from './environment.ts'

/** Times of reviews, Publications and Merges. */
export interface DeliverySettings {
  /** Longest wait of a caller for a review. */
  readonly reviewWaitMs: number
  /** A Publication or a Merge whose Git host does not answer has failed after this long. */
  readonly publicationMs: number
  /** Longest wait of a Merge for its pull request to become ready. */
  readonly mergeWaitMs: number
  /** From the first look at a pull request that is not ready to the second; doubled up to a bound for each further one. */
  readonly mergeCheckMs: number
}

export function readDelivery(env: Environment): DeliverySettings {
  return {
    reviewWaitMs: env.duration('BERTH_REVIEW_WAIT_SECONDS', 60, 'A caller waits this long for a review at most.'),
    publicationMs: env.duration(
      'BERTH_PUBLICATION_SECONDS',
      600,
      'A publication or a merge whose Git host does not answer has failed after this long.',
    ),
    mergeWaitMs: env.duration(
      'BERTH_MERGE_WAIT_SECONDS',
      86_400,
      'A merge waits this long at most for its pull request to become ready.',
    ),
    mergeCheckMs: env.duration(
      'BERTH_MERGE_CHECK_SECONDS',
      5,
      'Before a merge that waits is looked at again; doubled each time, up to five minutes.',
    ),
  }
}
