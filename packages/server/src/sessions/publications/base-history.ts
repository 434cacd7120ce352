import { join } from 'node:path'
import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import { openScratch } from '../../delivery/scratch.ts'
import type { DeliverySource } from '../../delivery/sources.ts'
import { transferOptions } from '../../git/git-environment.ts'
import { openOwnRepository } from '../../git/own-repository.ts'
import { GitError, runGit } from '../../git/run-git.ts'
import { nobody } from '../../sandboxes/confined/confined.ts'

/**
 * Returns true if the base branch no longer has the commit that the Session began at. It fetches the branch, so it is
 * asked only once a host has refused a pull request; if that fails, the answer is false.
 */
export async function isBaseRewritten(
  context: DeliveryContext,
  source: DeliverySource,
  signal: AbortSignal,
): Promise<boolean> {
  const mirror = await context.sources.mirror(source, signal)
  await using scratch = await openScratch(context.scratchDir)
  const { gitDir } = await openOwnRepository(scratch.path, [join(mirror, 'objects')], nobody)
  const remote = await source.host.access(source.repository, 'read', signal)
  const quiet = ['--quiet', '--no-tags', '--no-write-fetch-head', '--no-recurse-submodules']
  const ref = `+refs/heads/${source.baseBranch}:refs/berth/base`
  try {
    await runGit(['fetch', ...transferOptions('fetch', remote), ...quiet, remote.url, ref], { gitDir, remote, signal })
    const args = ['merge-base', '--is-ancestor', source.baseOid, 'refs/berth/base']
    return (await runGit(args, { gitDir, exits: [0, 1], signal })).exitCode === 1
  } catch (error) {
    if (error instanceof GitError) return false
    throw error
  }
}
