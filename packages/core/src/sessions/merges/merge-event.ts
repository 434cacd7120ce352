import type { EventDraft } from '../log/envelope.ts'
import type { MergeRow } from './merge.ts'

/** Returns the Event that tells how a Merge ended; only pull requests are merged. */
export function mergeEvent(row: MergeRow): EventDraft {
  return {
    type: row.status === 'succeeded' ? 'svc.publication.merge_succeeded' : 'svc.publication.merge_failed',
    data: {
      publicationId: row.publication_id,
      delivery: 'pull_request',
      status: row.status,
      mergeId: row.id,
      ...(row.merged_commit_sha !== null && { mergedCommitSha: row.merged_commit_sha }),
      ...(row.error_code !== null && { errorCode: row.error_code }),
    },
  }
}
