/** Why a delivery failed and how to proceed, by its error code. */
const meanings: Readonly<Record<string, string>> = {
  review_changed: 'the workspace has changed since that review; review it again with `berth review`',
  no_changes: 'the session has no changes',
  secret_in_changes:
    'the changes, the title or the body hold the value of a secret of the sandbox; remove it and review again',
  conflict_markers:
    'a file still holds the marks of a conflict with the base; have the agent resolve it and review again',
  workspace_expired: 'the sandbox is gone; `berth run --session` restores the workspace in a new one',
  session_archived: 'the session was archived',
  authority_revoked: 'the repository is no longer granted; an operator can grant it with `berth admin grant add`',
  branch_exists: 'the branch exists and does not belong to this session; name another with --branch',
  branch_moved: 'someone else has pushed to the branch; name another with --branch',
  branch_protected: 'the branch is protected; omit --direct, or name another with --branch',
  target_missing: 'the branch that the session started from no longer exists',
  target_moved:
    'the branch has new commits since the session started; omit --direct, or start a session on it if it had no commit then',
  base_rewritten: 'the base was rewritten since the session started; start a session on it and bring the work onto it',
  commit_not_signed:
    'the organization has the Git host sign commits, and this host did not; an administrator chooses who signs at /organization/git',
  pull_request_refused: 'the host refused the pull request',
  merge_not_ready:
    'the pull request is a draft, has conflicts, or lacks a check or a review; --when-ready waits for checks and reviews',
  head_moved: 'the head of the pull request is no longer the published commit',
  pull_request_closed: 'the pull request was closed',
  pull_request_missing: 'the pull request no longer exists',
  merge_refused: 'the host refused the merge; the repository may require another --strategy',
  repository_unavailable: 'this deployment cannot see the repository on the host',
  repository_permission_denied: 'this deployment may only read the repository, or a rule of the repository forbids it',
  git_host_unauthorized: "the host rejected this deployment's credential",
  git_host_rate_limited: 'the host limits our requests; try again later',
  git_host_unavailable: 'the host did not answer in time; try again later',
  git_host_refused: 'the host refused the request',
  internal_error: 'the service failed; see its log for the cause',
}

type DeliveryError = { readonly code: string; readonly branch?: string; readonly suggestedBranch?: string }

function obstacleMeaning(error: DeliveryError | undefined): string | undefined {
  if (error?.code !== 'branch_exists' || error.branch === undefined) return undefined
  const other = error.suggestedBranch === undefined ? '' : `, such as --branch ${error.suggestedBranch}`
  return `the branch ${error.branch} exists and is in the way; name another one${other}`
}

/** Explains why a delivery failed. The set of codes is open, so an unknown code is printed as it is. */
export function deliveryError(error: DeliveryError | undefined): string {
  const meaning = obstacleMeaning(error) ?? meanings[error?.code ?? '']
  return meaning === undefined ? (error?.code ?? 'unknown') : `${meaning} (${error?.code})`
}
