import type { ApiError } from '../api-error.ts'
import { refusal } from '../api-errors.ts'
import type { GitHostError } from '../git-hosts/git-host.ts'

/** What a host's failure means to a caller who named a repository (interface 7.3). */
export function hostRefusal({ kind, subject, retryAfterMs }: GitHostError): ApiError {
  switch (kind) {
    case 'not_found':
      return refusal(subject === 'branch' ? 'cloud_repository_branch_not_found' : 'cloud_repository_unavailable')
    case 'unauthorized':
      return refusal('cloud_github_connection_required')
    case 'rate_limited':
    case 'unavailable':
      return refusal(
        'cloud_workspace_unavailable',
        {},
        retryAfterMs === undefined ? undefined : Math.ceil(retryAfterMs / 1000),
      )
    default:
      return refusal('cloud_repository_permission_denied')
  }
}
