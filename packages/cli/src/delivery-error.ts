/** What became of a delivery that failed, and what to do, by the code that it ended with (interface 2.7, 2.8). */
const meanings: Readonly<Record<string, string>> = {
  review_changed: 'the workspace has changed since that review; look at it again with `berth review`',
  no_changes: 'the session has changed nothing',
  workspace_expired: 'the sandbox is gone; `berth run --session` brings it back',
  session_archived: 'the session was archived',
  authority_revoked: 'the repository is not granted any more; operators grant it with `berth admin grant add`',
  branch_exists: 'the branch is there already and not of this session; name another with --branch',
  branch_moved: 'somebody else has moved the branch; name another with --branch',
  branch_protected: 'the branch is protected; leave --direct out, or name another with --branch',
  target_missing: 'the branch that the session started from is gone',
  target_moved: 'the branch has moved on since the session started; leave --direct out',
  pull_request_refused: 'the host refuses the pull request',
  merge_not_ready:
    'it is a draft, has conflicts or lacks a check or a review; --when-ready waits for what can still come',
  head_moved: 'its branch is at another commit than was published',
  pull_request_closed: 'the pull request was closed',
  pull_request_missing: 'the pull request is gone',
  merge_refused: 'the host refuses the merge; the repository may want another --strategy',
  repository_unavailable: 'the host does not show the repository to this deployment',
  repository_permission_denied: 'the host lets this deployment read only, or a rule of the repository forbids it',
  git_host_unauthorized: "the host does not take this deployment's credential",
  git_host_rate_limited: 'the host wants to be left alone; try again later',
  git_host_unavailable: 'the host did not answer for too long; try again later',
  git_host_refused: 'the host refuses it',
  internal_error: 'the service failed; its log says more',
}

/** Why a delivery failed, for a person. The codes are an open set: one that is new is told as it is. */
export function deliveryError(error: { readonly code: string } | undefined): string {
  const meaning = meanings[error?.code ?? '']
  return meaning === undefined ? (error?.code ?? 'unknown') : `${meaning} (${error?.code})`
}
