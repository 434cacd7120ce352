import type { Merge, MergeError, MergeMode, MergeStatus, MergeStrategy } from '@berth/contract'

/**
 * An integration of a pull request at its exact head. It goes through these states, each recorded before the next step
 * begins:
 *
 * - `admitted`: requested.
 * - `attempted`: the host may have been asked to merge.
 * - `waiting`: only with `when_ready`. The host does not take it yet; a worker asks again, ever less often.
 * - `succeeded`, `failed`: final.
 *
 * A worker that takes a Merge up reads the pull request first. If it is merged at the Merge's head, the Merge has
 * succeeded, whoever merged it.
 */
export interface MergeRow {
  readonly organization_id: string
  readonly session_id: string
  readonly publication_id: string
  readonly id: string
  readonly request_hash: Buffer
  readonly strategy: MergeStrategy
  readonly mode: MergeMode
  readonly commit_title: string | null
  readonly commit_message: string | null
  readonly pull_number: number
  readonly head_sha: string
  readonly status: MergeStatus
  readonly merged_commit_sha: string | null
  readonly error_code: MergeError | null
  readonly attempts: number
  readonly failures: number
  readonly created_at: Date
  readonly updated_at: Date
  readonly ended_at: Date | null
}

/** Returns the Merge resource. */
export function toMerge(row: MergeRow): Merge {
  return {
    id: row.id,
    sessionId: row.session_id,
    publicationId: row.publication_id,
    status: row.status,
    strategy: row.strategy,
    mode: row.mode,
    pullRequestNumber: row.pull_number,
    expectedHeadSha: row.head_sha,
    ...(row.merged_commit_sha !== null && { mergedCommitSha: row.merged_commit_sha }),
    ...(row.error_code !== null && { lastError: { code: row.error_code } }),
    attempts: row.attempts,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    ...(row.ended_at !== null && { completedAt: row.ended_at.toISOString() }),
  }
}
