import { emptyTreeOid } from '@berth/contract'
import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import type { DeliverySource } from '../../delivery/sources.ts'
import type { HostBranch } from '../../git-hosts/git-host.ts'
import type { ReviewRow } from '../reviews/review-sql.ts'
import { PublicationFailed } from './publication-failed.ts'
import { isResetSince, listPushed, type PublicationClaim, type PushedCommit } from './publication-sql.ts'

/** Where a Publication's commit goes, and the commit that it begins at if the branch is new. */
export interface Start {
  readonly branch: string
  /** `emptyTreeOid`: it is the first commit of the repository. */
  readonly base: string
  /** The target has the commit `base` with the reviewed tree: there is nothing to push, and nothing to open. */
  readonly delivered: boolean
}

/**
 * Returns how the changes of a Session are delivered that began in a repository without a commit. The first commit makes
 * the target itself, since a pull request needs a branch to go to. Later pull requests begin at the last commit that the
 * Session put there: with any other the Session's work has no history in common.
 * @param target null if the branch does not exist
 * @throws PublicationFailed `target_moved` if somebody else has made the first commit, or the Session was reset since
 */
export async function startOfUnborn(
  context: DeliveryContext,
  claim: PublicationClaim,
  source: DeliverySource,
  { target, review, signal }: { readonly target: HostBranch | null; readonly review: ReviewRow; signal: AbortSignal },
): Promise<Start> {
  const { host, repository, baseBranch } = source
  const pushed = await listPushed(context.db, claim, baseBranch)
  if (target === null) {
    const unborn = await host.readUnbornBranch(repository, baseBranch, signal)
    if (unborn === null) throw new PublicationFailed(pushed.some(isDelivered) ? 'target_missing' : 'target_moved')
    if (unborn.protected) throw new PublicationFailed('branch_protected')
    return { branch: baseBranch, base: emptyTreeOid, delivered: false }
  }
  const last = pushed.find(({ commit_sha }) => commit_sha === target.oid) ?? pushed.find(isDelivered)
  if (last === undefined) throw new PublicationFailed('target_moved')
  // After a reset the work begins again without the files of that commit: built on it, it would delete them unseen.
  if (await isResetSince(context.db, claim, last.commit_sha)) throw new PublicationFailed('target_moved')
  const isTip = last.commit_sha === target.oid
  const delivered = isTip && claim.row.delivery === 'pull_request' && last.head_tree === review.head_tree
  return { branch: delivered ? baseBranch : claim.row.branch, base: last.commit_sha, delivered }
}

const isDelivered = ({ status }: PushedCommit): boolean => status === 'succeeded'
