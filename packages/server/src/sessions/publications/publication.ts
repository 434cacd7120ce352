import type { Publication, PublicationError, PublicationResult, PublicationStatus } from '@berth/contract'

/**
 * A delivery (interface 2.7). It goes through these, each recorded before what comes after it is begun:
 *
 * - `admitted`: asked for. Its worker looks whether the workspace is still as it was reviewed.
 * - `prepared`: the commit to be is settled, by its name, and where the branch must stand for it.
 * - `attempted`: the host may have the commit, and may have the pull request.
 * - `succeeded`, `failed`: final.
 *
 * Whoever takes a Publication up at `attempted` asks the host what it has before doing anything again.
 */
export interface PublicationRow {
  readonly session_id: string
  readonly id: string
  readonly request_hash: Buffer
  readonly revision: string
  readonly title: string
  readonly body: string
  readonly delivery: 'pull_request' | 'direct_branch'
  /** What is pushed to: the head of the pull request, or the target. */
  readonly branch: string
  readonly draft: boolean
  readonly status: PublicationStatus
  readonly commit_sha: string | null
  readonly parent_oid: string | null
  /** Where the branch stands before the push; null for one that is not there. */
  readonly moves_from: string | null
  /** No pull request of the branch was open when one was about to be. */
  readonly opening: boolean
  readonly result: PublicationResult | null
  readonly error_code: PublicationError | null
  readonly failures: number
  readonly created_at: Date
  readonly updated_at: Date
  readonly completed_at: Date | null
}

/** The Publication resource (interface 2.7). */
export function toPublication(row: PublicationRow): Publication {
  return {
    id: row.id,
    sessionId: row.session_id,
    status: row.status,
    revision: row.revision,
    title: row.title,
    delivery: row.delivery,
    ...(row.result !== null && { result: row.result }),
    ...(row.error_code !== null && { lastError: { code: row.error_code } }),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    ...(row.completed_at !== null && { completedAt: row.completed_at.toISOString() }),
  }
}
