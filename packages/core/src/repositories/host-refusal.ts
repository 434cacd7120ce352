import type { ErrorCode } from '@berth/contract'
import type { ApiError } from '@berth/platform/kit/api-error.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { GitHostError } from '../git-hosts/git-host.ts'

/** Returns the refusal for a request that names a repository whose host fails. */
export function hostRefusal(error: GitHostError): ApiError {
  const { passing, retryAfterMs } = error
  const delay = passing && retryAfterMs !== undefined ? Math.ceil(retryAfterMs / 1000) : undefined
  return refusal(hostRefusalCode(error), {}, delay)
}

/** Returns the code of that refusal. */
export function hostRefusalCode({ kind, subject }: GitHostError): ErrorCode {
  switch (kind) {
    case 'not_found':
      return subject === 'branch' ? 'cloud_repository_branch_not_found' : 'cloud_repository_unavailable'
    case 'unauthorized':
      return 'cloud_github_connection_required'
    case 'rate_limited':
    case 'unavailable':
      return 'cloud_workspace_unavailable'
    default:
      return 'cloud_repository_permission_denied'
  }
}
