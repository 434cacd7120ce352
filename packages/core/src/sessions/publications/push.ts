import { transferOptions } from '../../git/git-environment.ts'
import type { RemoteAccess } from '../../git/remote-access.ts'
import { GitError, runGit } from '../../git/run-git.ts'
import { gitErrorKind } from '../../git-hosts/git-error-kind.ts'
import { GitHostError } from '../../git-hosts/git-host.ts'

/** The outcome of a push. `obstructed`: another ref takes the place that this one needs. */
export type Pushed = 'pushed' | 'moved' | 'obstructed' | 'protected' | 'forbidden' | 'refused'

/**
 * Moves a ref of the host, such as `refs/heads/main`, from exactly its known commit, or makes one that is known to be
 * missing.
 * @param from commit of the ref; null if there is none
 * @param fetch a ref whose commit is fetched first, for the push to build on
 * @throws GitHostError if the host did not let git get there; `unavailable` if the cause is unknown
 */
export async function push(
  gitDir: string,
  remote: RemoteAccess,
  move: { readonly ref: string; readonly from: string | null; readonly to: string; readonly fetch: string | null },
  signal: AbortSignal,
): Promise<Pushed> {
  const { ref } = move
  if (move.fetch !== null) await fetchCommit(gitDir, remote, { wanted: `+${move.fetch}:refs/berth/tip` }, signal)
  try {
    const lease = `--force-with-lease=${ref}:${move.from ?? ''}`
    const pushed = ['push', ...transferOptions('push', remote), '--porcelain', '--no-verify', '--no-follow-tags', lease]
    const { exitCode, stdout, stderr } = await runGit([...pushed, remote.url, `${move.to}:${ref}`], {
      gitDir,
      remote,
      signal,
      exits: [0, 1],
    })
    if (exitCode === 0) return 'pushed'
    const status = stdout
      .toString('utf8')
      .split('\n')
      .find(line => line.startsWith('!'))
    return status === undefined ? unreached(stderr) : refusalOf(status, stderr)
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    return unreached(error.stderr, error)
  }
}

/**
 * Fetches a commit of the host, with everything that leads to it.
 * @param wanted its id, or where a ref goes
 * @param have a commit here that the host has as well: git then asks for nothing of it
 * @throws GitHostError if the host did not let git get there, or has no such commit
 */
export async function fetchCommit(
  gitDir: string,
  remote: RemoteAccess,
  { wanted, have }: { readonly wanted: string; readonly have?: string },
  signal: AbortSignal,
): Promise<void> {
  const quiet = ['--quiet', '--no-tags', '--no-write-fetch-head', '--no-recurse-submodules']
  const options = [...transferOptions('fetch', remote), ...quiet, ...(have ? [`--negotiation-tip=${have}`] : [])]
  try {
    await runGit(['fetch', ...options, remote.url, wanted], { gitDir, remote, signal })
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    return unreached(error.stderr, error)
  }
}

/**
 * Removes a ref of the host if it stands at a commit. A refusal is no error: the ref then stays.
 * @throws GitHostError if the host did not let git get there
 */
export async function removeRef(
  gitDir: string,
  remote: RemoteAccess,
  { ref, oid }: { readonly ref: string; readonly oid: string },
  signal: AbortSignal,
): Promise<void> {
  const options = [...transferOptions('push', remote), '--porcelain', '--no-verify', `--force-with-lease=${ref}:${oid}`]
  try {
    await runGit(['push', ...options, remote.url, `:${ref}`], { gitDir, remote, signal, exits: [0, 1] })
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    return unreached(error.stderr, error)
  }
}

/**
 * Throws the error that git's words mean.
 * @throws GitHostError `unavailable` if nothing better is known
 */
function unreached(text: string, cause?: unknown): never {
  throw new GitHostError(gitErrorKind(text), `git did not reach the branch: ${text.trim().slice(0, 200)}`, { cause })
}

/**
 * Returns the meaning of a refused push, by git's words and those that hosts add. Refusals that time does not end come
 * first: they come in the same words as those of another push that holds the branch. Names of branches, paths and
 * repositories say nothing: a branch may be called `protected`.
 * @param status git's line of the branch, as `--porcelain` writes it: mark, refs and reason between tabs
 * @param stderr git's error output, in which the host's own lines begin with `remote:`
 */
export function refusalOf(status: string, stderr: string): Exclude<Pushed, 'pushed'> {
  const reason = withoutNames(status.split('\t').slice(2).join(' '))
  const remote = stderr.split('\n').filter(line => line.startsWith('remote:'))
  const message = [reason, ...remote.map(withoutNames)].join('\n')
  if (/exists; cannot create|directory\/?[ -]?file conflict|there (is|are) still refs under/i.test(message))
    return 'obstructed'
  if (/file name too long|read-only file system|GH001|GH007|push protection|contains? secrets/i.test(message))
    return 'refused'
  if (/unable to create '': permission denied/i.test(message)) return 'forbidden'
  if (
    /stale info|fetch first|non-fast-forward|reference already exists|cannot lock ref|failed to update ref/i.test(
      reason,
    )
  ) {
    return 'moved'
  }
  if (/protected|GH006|GH013|rule violation|pre-receive hook declined|branch is currently checked out/i.test(message)) {
    return 'protected'
  }
  if (/permission|denied|not allowed|forbidden/i.test(message)) return 'forbidden'
  return 'refused'
}

/** Empties quoted names, and drops those of refs and addresses. */
const withoutNames = (message: string): string =>
  message.replace(/'[^']*'/g, "''").replace(/\brefs\/\S+|\b[a-z][a-z+]*:\/\/\S+/gi, '')
