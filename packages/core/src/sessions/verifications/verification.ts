import { createHash } from 'node:crypto'
import type { CheckResult, EnvironmentDocument, Verification, VerificationState } from '@berth/contract'
import { canonicalJson } from '@berth/platform/kit/request-hash.ts'
import type { EventDraft } from '../log/envelope.ts'

/**
 * The checks of an environment on one revision. It goes through these states, each with its Event but the first:
 *
 * - `queued`: requested. A hidden Session has a request for its workspace.
 * - `running`: the sandbox stands; setup, and then the checks, run in it.
 * - `passed`, `failed`: final, by the required checks.
 * - `errored`: final; the sandbox, or its setup, failed.
 * - `cancelled`: final; somebody asked for it, or the Session was archived.
 *
 * A worker that takes over goes on in the same sandbox. If that is lost, the checks begin again in another.
 */
export interface VerificationRow {
  readonly organization_id: string
  readonly session_id: string
  readonly id: string
  readonly request_hash: Buffer
  readonly revision: string
  readonly tree: string
  readonly environment_id: string
  readonly environment_revision: number
  readonly checks_digest: string
  readonly state: VerificationState
  readonly results: readonly CheckResult[]
  readonly error: Verification['error'] | null
  readonly reused_from: string | null
  /** The hidden Session; null if nothing had to run. */
  readonly sandbox_id: string | null
  readonly lease_id: string | null
  readonly requested_by_kind: string
  readonly requested_by_id: string
  readonly created_at: Date
  readonly started_at: Date | null
  readonly ended_at: Date | null
}

export type Check = EnvironmentDocument['checks'][number]

/** Returns the identity of checks on a base, by which their paths are judged. */
export const digestOfChecks = (checks: readonly Check[], baseTree: string): string =>
  createHash('sha256').update(canonicalJson({ checks, baseTree })).digest('hex')

/** Returns why the results say nothing in the sandbox that concludes them; null if each of its checks has ended there. */
export function findGap({ lease_id, results }: VerificationRow, leaseId: string): Verification['error'] | null {
  // A sandbox without an environment, or without checks, has begun none; the results are of another.
  if (lease_id !== leaseId || results.length === 0) return { code: 'cloud_checks_required' }
  return results.some(({ state }) => state === 'waiting' || state === 'running')
    ? { code: 'sandbox_unavailable' }
    : null
}

/** Returns how a verification ends whose checks have ended. */
export const stateOf = (results: readonly CheckResult[]): 'passed' | 'failed' =>
  results.some(({ state, required }) => required && state === 'failed') ? 'failed' : 'passed'

/** Returns the Verification resource. */
export function toVerification(row: VerificationRow): Verification {
  return {
    id: row.id,
    sessionId: row.session_id,
    revision: row.revision,
    tree: row.tree,
    state: row.state,
    environment: { id: row.environment_id, revision: row.environment_revision },
    checks: [...row.results],
    counts: countsOf(row.results),
    ...(row.error !== null && row.error !== undefined && { error: row.error }),
    ...(row.reused_from !== null && { reusedFrom: row.reused_from }),
    requestedBy: { kind: row.requested_by_kind, id: row.requested_by_id },
    createdAt: row.created_at.toISOString(),
    ...(row.started_at !== null && { startedAt: row.started_at.toISOString() }),
    ...(row.ended_at !== null && { completedAt: row.ended_at.toISOString() }),
  }
}

/** Returns the Event that tells of a verification as it is now; it carries no Run. */
export function verificationEvent(row: VerificationRow): EventDraft {
  const isOver = row.ended_at !== null
  return {
    type: isOver ? 'svc.verification.completed' : 'svc.verification.started',
    data: {
      verificationId: row.id,
      revision: row.revision,
      state: row.state,
      environmentId: row.environment_id,
      environmentRevision: row.environment_revision,
      ...(isOver && { counts: countsOf(row.results) }),
      ...(row.reused_from !== null && { reusedFrom: row.reused_from }),
      ...(row.error !== null && row.error !== undefined && { errorCode: row.error.code }),
    },
  }
}

function countsOf(results: readonly CheckResult[]): Verification['counts'] {
  const count = (end: CheckResult['state']) => results.filter(({ state }) => state === end).length
  return { passed: count('passed'), failed: count('failed'), skipped: count('skipped') }
}
