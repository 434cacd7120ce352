import { doublingMs } from '@berth/platform/kit/backoff.ts'
import { GitError } from '../git/run-git.ts'
import { GitHostError } from '../git-hosts/git-host.ts'

/** Codes with which both Publications and Merges end if the host is at fault. */
export type HostFailure =
  | 'authority_revoked'
  | 'repository_unavailable'
  | 'repository_permission_denied'
  | 'git_host_unauthorized'
  | 'git_host_rate_limited'
  | 'git_host_unavailable'
  | 'git_host_refused'

/** Returns the code for an error of a host, if the delivery has no more particular one. */
export function hostFailure(error: GitHostError): HostFailure {
  switch (error.kind) {
    case 'unauthorized':
      return 'git_host_unauthorized'
    case 'forbidden':
      return 'repository_permission_denied'
    case 'not_found':
      return 'repository_unavailable'
    case 'rate_limited':
      return 'git_host_rate_limited'
    case 'unavailable':
      return 'git_host_unavailable'
    default:
      return 'git_host_refused'
  }
}

const SECOND_MS = 1000
const LONGEST_PAUSE_MS = 60 * SECOND_MS

/**
 * Returns the pause before the next try: doubling from a second up to a minute, and never less than the host asks for.
 */
export function pauseMs(failures: number, error: unknown): number {
  const requestedMs = error instanceof GitHostError ? (error.retryAfterMs ?? 0) : 0
  return Math.max(requestedMs, doublingMs(failures + 1, SECOND_MS, LONGEST_PAUSE_MS))
}

/** Returns true if the same step may succeed later: the host is away or busy, or git could not reach it. */
export function isPassing(error: unknown): error is GitHostError | GitError {
  if (error instanceof GitHostError) return error.passing
  return error instanceof GitError
}
