import { emptyTreeOid } from '@berth/contract'
import { SandboxGoneError } from '@berth/sandboxes/driver.ts'
import { readAttribution } from '../../accounts/organizations/commit-attribution.ts'
import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import type { DeliverySource } from '../../delivery/sources.ts'
import { isAncestor } from '../../git/merge-trees.ts'
import { GitHostError, type HostBranch } from '../../git-hosts/git-host.ts'
import { readBroughtHead } from '../leases/brought-sql.ts'
import { currentTree } from '../reviews/current-tree.ts'
import { openPlace } from '../reviews/open-place.ts'
import { ReviewRefused } from '../reviews/review-place.ts'
import { findReview, type ReviewRow } from '../reviews/review-sql.ts'
import { attribute } from './attribution.ts'
import { freeBranch } from './branch-name.ts'
import { commitName, messageOf, signedCommit, withTrailers } from './commit.ts'
import { type Start, startOfUnborn } from './first-commit.ts'
import { hasMarkers } from './has-markers.ts'
import { hasSecret } from './has-secret.ts'
import type { Prepared, PublicationRow } from './publication.ts'
import { PublicationFailed } from './publication-failed.ts'
import { listPushed, type PublicationClaim } from './publication-sql.ts'

/** Returns the review that a Publication is pinned to; the Publication's row keeps it there. */
export async function reviewOf(context: DeliveryContext, claim: PublicationClaim): Promise<ReviewRow> {
  const review = await findReview(context.db, claim, claim.row.revision)
  if (review === null) throw new Error(`no review ${claim.row.revision}`)
  return review
}

/**
 * Checks that the workspace is still as it was reviewed and that nothing to deliver holds a secret or a conflict, and settles the
 * commit: its parents, its id unless the host is to make it, and the tip that the branch must have. A branch is only ever
 * moved from a commit that this Session put there, or that somebody else put on top and the workspace holds.
 * @throws PublicationFailed, GitHostError
 */
export async function prepare(
  context: DeliveryContext,
  claim: PublicationClaim,
  source: DeliverySource,
  signal: AbortSignal,
): Promise<Prepared> {
  const review = await reviewOf(context, claim)
  await requireUnchanged(context, claim, source, review, signal)
  if (review.head_tree === review.base_tree) throw new PublicationFailed('no_changes')
  if (await hasSecret(context, claim, source, review, signal)) throw new PublicationFailed('secret_in_changes')
  if (await hasMarkers(context, claim, source, review, signal)) throw new PublicationFailed('conflict_markers')
  return settle(context, claim, source, review, signal)
}

async function requireUnchanged(
  context: DeliveryContext,
  { place: at }: PublicationClaim,
  source: DeliverySource,
  review: ReviewRow,
  signal: AbortSignal,
): Promise<void> {
  if (at === null) throw new PublicationFailed('workspace_expired')
  try {
    await using place = await openPlace(context, at, source, signal)
    const tree = await currentTree(place, review.base_tree, signal)
    if (tree !== review.head_tree) throw new PublicationFailed('review_changed')
  } catch (error) {
    if (error instanceof SandboxGoneError) throw new PublicationFailed('workspace_expired', { cause: error })
    if (error instanceof ReviewRefused) throw new PublicationFailed('review_changed', { cause: error })
    throw error
  }
}

async function settle(
  context: DeliveryContext,
  claim: PublicationClaim,
  source: DeliverySource,
  review: ReviewRow,
  signal: AbortSignal,
): Promise<Prepared> {
  const { row } = claim
  const target = await findBranch(source, source.baseBranch, signal)
  const start = await startOf(context, claim, source, { target, review, signal })
  const { branch, base } = start
  if (start.delivered) return { branch, sha: base, text: null, parent: base, movesFrom: base }
  const direct = branch === source.baseBranch
  // Even if the host would let this deployment pass: the protection is meant against pushes like this.
  if (direct && target?.protected) throw new PublicationFailed('branch_protected')
  const tip = (direct ? target : await findBranch(source, branch, signal))?.oid ?? null
  const pushed = await listPushed(context.db, claim, branch)
  const before = pushed.find(({ commit_sha }) => commit_sha === tip)
  const theirs = await readBroughtHead(context.db, claim)
  const parent = parentOf(row, tip, {
    ...{ base, before: before?.commit_sha, pushedBefore: pushed.length > 0 },
    theirs: direct ? undefined : theirs?.oid,
  })
  const isTheirs = theirs !== null && before === undefined && parent === theirs.oid && parent !== base
  const holds = before?.base_oid ?? (isTheirs ? theirs.baseOid : review.base_oid)
  // Delivered before, commit for commit: there is nothing to push.
  if (before?.head_tree === review.head_tree && holds === review.base_oid) {
    return { branch, sha: before.commit_sha, text: null, parent, movesFrom: tip }
  }
  const { identity, signer } = context.commits
  const choice = await readAttribution(context.db, claim.organizationId)
  const made = choice.signer === 'deployment'
  if (!made && source.host.signing === undefined) throw new PublicationFailed('commit_not_signed')
  const { trailers, ...people } = attribute(choice, row.author, identity)
  const message = await withTrailers(messageOf(row), trailers, signal)
  const parents = [parent, ...(await broughtParent(context, source, { base: review.base_oid, holds }, signal))]
  const commit = {
    ...{ tree: review.head_tree, parents: parents.filter(oid => oid !== emptyTreeOid) },
    ...{ ...people, at: row.created_at, message },
  }
  const text = await signedCommit(commit, made ? signer : null)
  return { branch, sha: made ? await commitName(text, signal) : null, text, parent, movesFrom: tip }
}

async function startOf(
  context: DeliveryContext,
  claim: PublicationClaim,
  source: DeliverySource,
  at: Parameters<typeof startOfUnborn>[3],
): Promise<Start> {
  if (source.baseOid === emptyTreeOid) return await startOfUnborn(context, claim, source, at)
  if (at.target === null) throw new PublicationFailed('target_missing')
  return { branch: claim.row.branch, base: source.baseOid, delivered: false }
}

/**
 * Returns the base as a further parent of a commit whose first parent holds another one: so the host sees that the branch
 * has it. None if the first parent holds it.
 * @param holds a commit of the base that the first parent holds, and none newer
 * @throws PublicationFailed `branch_moved` if the first parent is newer than the workspace, whose tree would undo what the
 *   base has become meanwhile
 */
async function broughtParent(
  context: DeliveryContext,
  source: DeliverySource,
  { base, holds }: { readonly base: string; readonly holds: string },
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (holds === base) return []
  if (base === emptyTreeOid) throw new PublicationFailed('branch_moved')
  if (holds === emptyTreeOid) return [base]
  const gitDir = await context.sources.mirror({ ...source, baseOid: holds }, signal)
  if (await isAncestor(gitDir, base, holds, signal)) throw new PublicationFailed('branch_moved')
  return [base]
}

/**
 * Returns a branch of the host; null if there is none.
 * @throws GitHostError
 */
export async function findBranch(
  { host, repository }: DeliverySource,
  branch: string,
  signal: AbortSignal,
): Promise<HostBranch | null> {
  try {
    return await host.readBranch(repository, branch, signal)
  } catch (error) {
    if (error instanceof GitHostError && error.kind === 'not_found' && error.subject === 'branch') return null
    throw error
  }
}

/**
 * Returns the commit to build on, by the tip of the branch.
 * @throws PublicationFailed
 */
export function parentOf(
  row: Pick<PublicationRow, 'delivery' | 'branch' | 'session_id'>,
  tip: string | null,
  known: {
    readonly base: string
    readonly before: string | undefined
    readonly pushedBefore: boolean
    /** Somebody else's tip of the branch that the workspace holds. */
    readonly theirs?: string | undefined
  },
): string {
  if (known.before !== undefined) return known.before
  if (tip !== null && tip === known.theirs && known.pushedBefore) return tip
  // The first commit of a repository.
  if (tip === null && known.base === emptyTreeOid) return emptyTreeOid
  if (row.delivery === 'direct_branch') {
    if (tip === known.base) return known.base
    throw new PublicationFailed('target_moved')
  }
  if (tip === null) return known.base
  if (known.pushedBefore) throw new PublicationFailed('branch_moved')
  const { branch } = row
  throw new PublicationFailed('branch_exists', {
    obstacle: { branch, suggestedBranch: freeBranch(row.session_id, branch) },
  })
}
