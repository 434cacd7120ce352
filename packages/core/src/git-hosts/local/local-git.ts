import { isUtf8 } from 'node:buffer'
import { GitError, runGit } from '../../git/run-git.ts'
import { GitHostError, type MergePullRequest } from '../git-host.ts'
import { withoutSection } from '../pull-section.ts'
import type * as sql from './local-sql.ts'

interface Options {
  readonly gitDir: string
  readonly exits: readonly number[]
  readonly signal: AbortSignal | undefined
}

/** Runs git in a repository and returns its output as text, without the last line's end. */
export async function git(args: readonly string[], options: Options): Promise<string> {
  return (await gitBytes(args, options)).toString().replace(/\n$/, '')
}

/** Returns the lines of a git's output that are UTF-8: no other name can be shown, or asked for. */
export async function utf8Lines(args: readonly string[], options: Options): Promise<string[]> {
  const lines = (await gitBytes(args, options)).toString('latin1').split('\n')
  return lines.map(line => Buffer.from(line, 'latin1')).flatMap(line => (isUtf8(line) ? [line.toString()] : []))
}

/**
 * Runs git in a repository and returns its output.
 * @throws GitHostError `unavailable` if git cannot read the branch or the repository
 */
export async function gitBytes(args: readonly string[], { signal, ...rest }: Options): Promise<Buffer> {
  try {
    return (await runGit(args, { ...rest, timeoutMs: 10_000, ...(signal && { signal }) })).stdout
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    throw new GitHostError('unavailable', 'the repository cannot be read', { cause: error })
  }
}

/**
 * Waits for a merge.
 * @throws GitHostError `not_mergeable` that names the bound, if the merge went over one
 */
export async function inBounds<T>(merging: Promise<T>): Promise<T> {
  try {
    return await merging
  } catch (error) {
    if (!(error instanceof GitError) || error.bound === undefined) throw error
    throw new GitHostError('not_mergeable', `the merge went over a bound of this host: ${error.bound}`, {
      cause: error,
    })
  }
}

/**
 * Returns false if the error says that a merge is impossible.
 * @throws any other error
 */
export function ofMerge(error: unknown): false {
  if (error instanceof GitHostError && error.kind === 'not_mergeable') return false
  throw error
}

/**
 * Moves the base branch from `from`, if the head is still the one that was merged.
 * @returns false if either has moved
 */
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

/** Returns true if a branch has a commit. */
export async function contains(gitDir: string, tip: string, oid: string, signal?: AbortSignal): Promise<boolean> {
  const args = ['merge-base', '--is-ancestor', oid, tip]
  const { exitCode } = await runGit(args, { gitDir, exits: [0, 1, 128], ...(signal && { signal }) })
  return exitCode === 0
}

/** Returns the commit of the branch itself with which `oid` came into it. */
export async function broughtIn(gitDir: string, tip: string, oid: string, signal?: AbortSignal): Promise<string> {
  const args = ['rev-list', '--first-parent', '--ancestry-path', '--topo-order', '--reverse', '--parents']
  const [first = ''] = (await git([...args, `${oid}..${tip}`], { gitDir, exits: [0], signal })).split('\n')
  const [commit = '', parent] = first.split(' ')
  // Nothing follows it, or the next commit is built on it: it lies on the branch itself, as after a fast-forward.
  return commit === '' || parent === oid ? oid : commit
}

/** Returns the message of a merge: the asked one, or this host's own. */
export function mergeMessage(row: sql.LocalPullRow, merge: MergePullRequest): string {
  const own =
    merge.strategy === 'merge'
      ? { title: `Merge pull request #${row.number} from ${row.head_branch}`, body: row.title }
      : { title: `${row.title} (#${row.number})`, body: withoutSection(row.body) }
  const body = (merge.commitMessage ?? own.body).replaceAll('\r\n', '\n').trimEnd()
  return `${merge.commitTitle ?? own.title}\n${body === '' ? '' : `\n${body}\n`}`
}
