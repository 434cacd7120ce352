import type { Octokit } from 'octokit'
import type { HostPull, PullBlocker } from '../git-host.ts'

/** A pull request as GitHub describes it. */
export type GitHubPull = Awaited<ReturnType<Octokit['rest']['pulls']['get']>>['data']

/** Returns a pull request as the service knows it. */
export function toPull(pull: GitHubPull): HostPull {
  const open = pull.state === 'open'
  const blockers = open ? blockersOf(pull) : []
  const known = pull.mergeable !== null && pull.mergeable !== undefined && pull.mergeable_state !== 'unknown'
  return {
    number: pull.number,
    url: pull.html_url,
    title: pull.title,
    body: pull.body ?? '',
    draft: pull.draft === true,
    // The repository of a head may be gone.
    fromFork: pull.head.repo?.id !== pull.base.repo?.id,
    state: open ? 'open' : pull.merged_at === null ? 'closed' : 'merged',
    headBranch: pull.head.ref,
    headOid: pull.head.sha,
    baseBranch: pull.base.ref,
    ...(pull.merged_at !== null && pull.merge_commit_sha !== null && { mergeCommitOid: pull.merge_commit_sha }),
    mergeable: !open || blockers.length > 0 ? 'no' : known ? 'yes' : 'unknown',
    blockers,
  }
}

/** Blockers by `mergeable_state`, if it tells one; `unstable` means a check that nobody requires. */
const blockerOfState: ReadonlyMap<string, PullBlocker> = new Map(
  Object.entries({
    dirty: 'conflict',
    draft: 'draft',
    blocked: 'rules',
    behind: 'behind',
  }),
)

function blockersOf(pull: GitHubPull): PullBlocker[] {
  const blocker = blockerOfState.get(pull.mergeable_state ?? '')
  const blockers = new Set<PullBlocker>(blocker === undefined ? [] : [blocker])
  if (pull.mergeable === false && blocker === undefined) blockers.add('conflict')
  if (pull.draft === true) blockers.add('draft')
  return [...blockers]
}
