import { GitError, gitText, runGit } from '../../git/run-git.ts'
import { GitHostError } from '../git-host.ts'
import type * as sql from './local-sql.ts'

/** A branch or repository that cannot be read is the host's failure. */
export async function git(
  args: readonly string[],
  options: { gitDir: string; exits: readonly number[]; signal: AbortSignal | undefined },
): Promise<string> {
  const { signal, ...rest } = options
  try {
    return await gitText(args, { ...rest, timeoutMs: 10_000, ...(signal && { signal }) })
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    throw new GitHostError('unavailable', 'the repository cannot be read', { cause: error })
  }
}

/** @throws GitHostError `not_mergeable` that names the bound which a merge went over */
export async function inBounds<T>(merging: Promise<T>): Promise<T> {
  try {
    return await merging
  } catch (error) {
    if (!(error instanceof GitError) || error.bound === undefined) throw error
    throw new GitHostError('not_mergeable', `the merge goes over a bound of this host: ${error.bound}`, {
      cause: error,
    })
  }
}

/** @returns false for what cannot be merged */
export function ofMerge(error: unknown): false {
  if (error instanceof GitHostError && error.kind === 'not_mergeable') return false
  throw error
}

/** Moves the base branch from where it was, while the head still is what is merged. @returns false where either moved */
export async function moveBase(
  gitDir: string,
  { base_branch, head_branch }: sql.LocalPullRow,
  { commit_oid, head_oid }: sql.MergeIntent,
  from: string,
): Promise<boolean> {
  const verify = `verify refs/heads/${head_branch}\0${head_oid}\0`
  const input = `${verify}update refs/heads/${base_branch}\0${commit_oid}\0${from}\0`
  const { exitCode } = await runGit(['update-ref', '--stdin', '-z'], { gitDir, input, exits: [0, 1, 128] })
  return exitCode === 0
}

/** Whether a branch has a commit. */
export async function contains(gitDir: string, tip: string, oid: string, signal?: AbortSignal): Promise<boolean> {
  const args = ['merge-base', '--is-ancestor', oid, tip]
  const { exitCode } = await runGit(args, { gitDir, exits: [0, 1, 128], ...(signal && { signal }) })
  return exitCode === 0
}

/** The commit of the branch itself with which `oid` came into it. */
export async function broughtIn(gitDir: string, tip: string, oid: string, signal?: AbortSignal): Promise<string> {
  const args = ['rev-list', '--first-parent', '--ancestry-path', '--topo-order', '--reverse', '--parents']
  const [first = ''] = (await git([...args, `${oid}..${tip}`], { gitDir, exits: [0], signal })).split('\n')
  const [commit = '', parent] = first.split(' ')
  // Nothing after it, or what follows is built on it: it is of the branch itself, as after a fast-forward.
  return commit === '' || parent === oid ? oid : commit
}
