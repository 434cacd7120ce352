import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import type { DeliverySource } from '../../delivery/sources.ts'
import { GitError, runGit } from '../../git/run-git.ts'
import { GitHostError } from '../../git-hosts/git-host.ts'
import { openBorrowing } from './commit.ts'
import { fetchCommit } from './push.ts'

/**
 * Returns true if the base branch no longer has the commit that the Session began at. It fetches the branch, so it is
 * asked only once a host has refused a pull request; if that fails, the answer is false.
 */
export async function isBaseRewritten(
  context: DeliveryContext,
  source: DeliverySource,
  signal: AbortSignal,
): Promise<boolean> {
  await using own = await openBorrowing(context, source, signal)
  const remote = await source.host.access(source.repository, 'read', signal)
  try {
    await fetchCommit(own.gitDir, remote, { wanted: `+refs/heads/${source.baseBranch}:refs/berth/base` }, signal)
    const args = ['merge-base', '--is-ancestor', source.baseOid, 'refs/berth/base']
    return (await runGit(args, { gitDir: own.gitDir, exits: [0, 1], signal })).exitCode === 1
  } catch (error) {
    if (error instanceof GitError || error instanceof GitHostError) return false
    throw error
  }
}
