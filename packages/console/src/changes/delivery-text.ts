interface DeliveryError {
  readonly code: string
  readonly branch?: string
  readonly suggestedBranch?: string
}

const reasons: Readonly<Record<string, string>> = {
  review_changed: 'the changes have moved on since they were read; read them again and publish that',
  no_changes: 'there is nothing to deliver',
  secret_in_changes: 'a file holds a secret of this Session; ask the agent to take it out',
  conflict_markers: 'a file still holds the marks of a conflict with the base; ask the agent to resolve it',
  workspace_expired: 'the sandbox was released; start it and read the changes again',
  session_archived: 'the Session was archived',
  authority_revoked: 'whoever asked for it may no longer do it',
  branch_exists: 'the branch exists already',
  branch_moved: 'somebody else pushed to the branch',
  branch_protected: 'the branch is protected; publish a pull request instead',
  target_missing: 'the target branch is gone',
  target_moved:
    'the target branch has moved on; publish a pull request, or ask the agent to take the new commits in. If the branch had no commit when the Session began, start a Session on it and bring the work there',
  base_rewritten: 'the base was rewritten; start a Session on it and bring the work onto it',
  commit_not_signed:
    'your organization has the Git host sign commits, and this host did not sign; an administrator chooses who signs on the page Git hosts',
  pull_request_refused: 'the Git host refused the pull request',
  repository_unavailable: 'the repository cannot be reached',
  repository_permission_denied: 'Berth may not write to the repository',
  git_host_unauthorized: 'the connection to the Git host has ended; an administrator can renew it',
  git_host_rate_limited: 'the Git host asks to wait; try again later',
  git_host_unavailable: 'the Git host does not answer; try again later',
  git_host_refused: 'the Git host refused it',
  internal_error: 'something failed in Berth; try again',
  merge_not_ready: 'checks or reviews are missing',
  head_moved: 'the pull request has other commits than those published',
  pull_request_closed: 'the pull request was closed',
  pull_request_missing: 'the pull request is gone',
  merge_refused: 'the Git host refused the merge',
}

/** Says why a delivery failed or waits. */
export function deliveryReason(error: DeliveryError | undefined): string {
  const code = error?.code
  if (code === 'branch_exists' && error?.branch !== undefined) {
    const other = error.suggestedBranch === undefined ? '' : `, for example ${error.suggestedBranch}`
    return `the branch ${error.branch} exists and is in the way; choose another name${other}`
  }
  return code === undefined ? '' : (reasons[code] ?? code.replaceAll('_', ' '))
}

const blockers: Readonly<Record<string, string>> = {
  conflict: 'It conflicts with its base branch.',
  draft: 'It is a draft.',
  checks: 'A required check has not succeeded yet.',
  reviews: 'A review is missing.',
  behind: 'Its base branch has moved on; it has to take that in first.',
  rules: 'The rules of the branch do not allow it yet, a review for example.',
}

/** Returns the obstacle to a merge of a pull request. */
export function blockerText(blocker: string): string {
  return blockers[blocker] ?? blocker.replaceAll('_', ' ')
}
