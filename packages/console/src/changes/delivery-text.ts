const reasons: Readonly<Record<string, string>> = {
  review_changed: 'the changes have moved on since you read them; read them again and publish that',
  no_changes: 'there is nothing to deliver',
  workspace_expired: 'the sandbox was released; bring it back and read the changes again',
  branch_exists: 'the branch exists already',
  branch_moved: 'somebody else pushed to the branch',
  branch_protected: 'the branch is protected',
  target_missing: 'the target branch is gone',
  target_moved: 'the target branch has moved on',
  pull_request_refused: 'the Git host refused the pull request',
  repository_unavailable: 'the repository cannot be reached',
  repository_permission_denied: 'Berth may not write to the repository',
  merge_not_ready: 'checks or reviews are missing',
  head_moved: 'the pull request has other commits than those published',
  pull_request_closed: 'the pull request was closed',
  pull_request_missing: 'the pull request is gone',
  merge_refused: 'the Git host refused the merge',
}

/** Says why a delivery failed or waits. */
export function deliveryReason(code: string | undefined): string {
  return code === undefined ? '' : (reasons[code] ?? code.replaceAll('_', ' '))
}
