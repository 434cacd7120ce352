import type {
  FollowUpRequest,
  Publication,
  PublicationError,
  PublicationResult,
  PublicationStatus,
} from '@berth/contract'
import type { GitIdentity } from '../../git/git-identity.ts'

/**
 * A delivery. It goes through these states, each recorded before the next step begins:
 *
 * - `admitted`: requested. A worker checks that the workspace is still as it was reviewed.
 * - `prepared`: the commit is settled, and the tip that the branch must have. The commit has its id, unless the host makes
 *   it.
 * - `attempted`: the host may have the commit, and may have the pull request.
 * - `succeeded`, `failed`: final.
 *
 * A worker that takes a Publication up at `attempted` reads the host's state before it repeats a step.
 */
export interface PublicationRow {
  readonly organization_id: string
  readonly session_id: string
  readonly id: string
  readonly request_hash: Buffer
  readonly revision: string
  readonly title: string
  readonly body: string
  readonly delivery: 'pull_request' | 'direct_branch'
  /**
   * The branch that is pushed: the head of the pull request, or the target. The first commit of a repository makes the
   * target, however it was to be delivered.
   */
  readonly branch: string
  readonly draft: boolean
  /** The person who asked for it, until it ends; null for an installation. */
  readonly author: GitIdentity | null
  readonly requested_by_kind: string | null
  readonly requested_by_id: string | null
  /** The passed verification that stood when it was asked for; its end is signed. */
  readonly verification_id: string | null
  /** The Artifact with the signed statement. */
  readonly statement_id: string | null
  readonly status: PublicationStatus
  /** Null until it is prepared, and if the host makes the commit until it has: only then the branch gets it. */
  readonly commit_sha: string | null
  /**
   * The commit as git writes it, until the Publication ends. Some signatures differ each time that they are made, so the
   * commit is made once. Until a host has made its commit this is a draft of it, unsigned. Null if the branch has the
   * commit already.
   */
  readonly commit_object: string | null
  /** `emptyTreeOid` if the commit is the first one of the repository. */
  readonly parent_oid: string | null
  /** Tip of the branch before the push; null if the branch does not exist. */
  readonly moves_from: string | null
  /** True once a pull request was about to be opened, with none open for the branch. */
  readonly opening: boolean
  readonly result: PublicationResult | null
  readonly error_code: PublicationError | null
  readonly obstacle: Obstacle | null
  /** The follow-up that was asked for with it; it begins once the pull request is there. */
  readonly follow_up: RequestedFollowUp | null
  readonly failures: number
  readonly created_at: Date
  readonly updated_at: Date
  readonly ended_at: Date | null
}

/** A follow-up that was asked for, and by whom. */
export interface RequestedFollowUp {
  readonly request: FollowUpRequest
  readonly by: { readonly kind: 'person' | 'app_installation'; readonly id: string }
}

/** The commit of a Publication, its parent, and the branch with the tip that it moves from. */
export interface Prepared {
  readonly branch: string
  /** Null: the host is to make the commit. */
  readonly sha: string | null
  /** The commit as git writes it, or a draft for the host; null if the branch has the commit already. */
  readonly text: string | null
  readonly parent: string
  readonly movesFrom: string | null
}

/** The branch that keeps a Publication's own from being made, and another name for that one. */
export interface Obstacle {
  readonly branch: string
  readonly suggestedBranch: string
}

/** Returns the Publication resource. */
export function toPublication(row: PublicationRow): Publication {
  return {
    id: row.id,
    sessionId: row.session_id,
    status: row.status,
    revision: row.revision,
    title: row.title,
    delivery: row.delivery,
    ...(row.result !== null && { result: row.result }),
    ...requesterOf(row),
    ...(row.verification_id !== null && { verificationId: row.verification_id }),
    ...(row.statement_id !== null && { statement: { artifactId: row.statement_id } }),
    ...(row.error_code !== null && { lastError: { code: row.error_code, ...row.obstacle } }),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    ...(row.ended_at !== null && { completedAt: row.ended_at.toISOString() }),
  }
}

/** Returns who asked for a Publication. */
export const requesterOf = ({
  requested_by_kind: kind,
  requested_by_id: id,
}: Pick<PublicationRow, 'requested_by_kind' | 'requested_by_id'>): Pick<Publication, 'requestedBy'> =>
  kind === null || id === null ? {} : { requestedBy: { kind, id } }
