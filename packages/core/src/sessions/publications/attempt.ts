import { emptyTreeOid, type PublicationResult } from '@berth/contract'
import { nobody } from '@berth/sandboxes/confined/confined.ts'
import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import { isPassing } from '../../delivery/failure.ts'
import { openScratch } from '../../delivery/scratch.ts'
import type { DeliverySource } from '../../delivery/sources.ts'
import { openOwnRepository } from '../../git/own-repository.ts'
import { GitHostError, type HostPull } from '../../git-hosts/git-host.ts'
import { isBaseRewritten } from './base-history.ts'
import { findObstacle } from './branch-in-the-way.ts'
import { addCommit, openReviewed } from './commit.ts'
import { describedBy, type RenderedEvidence, renderEvidence, reportEvidence } from './evidence/report-evidence.ts'
import { draftOf, makeAtHost } from './make-at-host.ts'
import { findBranch, reviewOf } from './prepare.ts'
import type { PublicationRow } from './publication.ts'
import { PublicationFailed } from './publication-failed.ts'
import { markMade, markOpening, type PublicationClaim } from './publication-sql.ts'
import { push, removeRef } from './push.ts'

/** A row whose commit exists. */
type MadeRow = PublicationRow & { readonly commit_sha: string; readonly parent_oid: string }

/**
 * Brings the commit to the host and opens the pull request, unless the host has them. An earlier attempt may have
 * stopped anywhere, so this one asks the host first. A commit that the host makes has its id on record before the branch
 * gets it: whoever continues without one knows that no commit of this Publication is on the branch.
 * @throws PublicationFailed, GitHostError, ClaimTaken
 */
export async function attempt(
  context: DeliveryContext,
  claim: PublicationClaim,
  source: DeliverySource,
  signal: AbortSignal,
): Promise<PublicationResult> {
  const { moves_from, parent_oid, commit_sha } = claim.row
  // A new branch begins at the parent, which is not the Session's base if that is no commit.
  const from = moves_from === null && parent_oid !== null ? { ...source, baseOid: parent_oid } : source
  const row = madeRow(commit_sha === null ? await haveMade(context, claim, from, signal) : claim.row)
  await deliverCommit(context, { ...claim, row }, from, signal)
  const { branch, commit_sha: commitSha } = row
  if (goesToTarget(row, source)) return { delivery: 'direct_branch', branch, commitSha }
  const rendered = await renderEvidence(context, { ...claim, row })
  const { pull, reused } = await providePull(context, { ...claim, row }, from, rendered, signal)
  await reportEvidence(context, { ...claim, row }, from, { ...rendered, pull, commitSha }, signal)
  const { number, url, draft } = pull
  return { delivery: 'pull_request', branch, commitSha, pullRequest: { number, url, draft, reused } }
}

/** Returns true if the commit goes to the target itself, as the first one of a repository always does. */
const goesToTarget = ({ branch }: PublicationRow, { baseBranch }: DeliverySource): boolean => branch === baseBranch

/**
 * Lets the host make the commit, and records it.
 * @throws PublicationFailed if the branch cannot get it
 */
async function haveMade(
  context: DeliveryContext,
  claim: PublicationClaim,
  source: DeliverySource,
  signal: AbortSignal,
): Promise<PublicationRow> {
  const commit = await makeOrClear(context, claim, source, signal)
  const row = await markMade(context.db, claim.claim, commit, context.clock.now())
  if (row === null) throw new ClaimTaken()
  return row
}

/**
 * Returns the commit that the host makes. If it makes none, the draft goes, which this attempt or one before it may have
 * left there. An error that ends the Publication waits for that: nobody comes back to the draft.
 */
async function makeOrClear(
  context: DeliveryContext,
  claim: PublicationClaim,
  source: DeliverySource,
  signal: AbortSignal,
): ReturnType<typeof makeAtHost> {
  const { row } = claim
  try {
    const branch = await findBranch(source, row.branch, signal)
    if (goesToTarget(row, source) && branch?.protected) throw new PublicationFailed('branch_protected')
    if ((branch?.oid ?? null) !== row.moves_from) return await refuseMoved(claim, source, signal)
    return await makeAtHost(context, claim, source, signal)
  } catch (error) {
    if (row.commit_object !== null) {
      const draft = await draftOf(row.id, row.commit_object, signal)
      await removeAtHost(context, source, draft, signal).catch((left: unknown) => {
        if (isPassing(left) && !isPassing(error)) throw left
      })
    }
    throw error
  }
}

function madeRow(row: PublicationRow): MadeRow {
  const { commit_sha, parent_oid } = row
  if (commit_sha === null || parent_oid === null) throw new Error('a publication was attempted before it was prepared')
  return { ...row, commit_sha, parent_oid }
}

async function deliverCommit(
  context: DeliveryContext,
  claim: PublicationClaim & { readonly row: MadeRow },
  source: DeliverySource,
  signal: AbortSignal,
): Promise<void> {
  const { row } = claim
  const { host, repository } = source
  if (row.moves_from === row.commit_sha) return
  const branch = await findBranch(source, row.branch, signal)
  if (branch?.oid === row.commit_sha) return
  // The host has protected the branch since the preparation.
  if (goesToTarget(row, source) && branch?.protected) throw new PublicationFailed('branch_protected')
  // Another Session may have made the first commit since, on another branch.
  if (row.parent_oid === emptyTreeOid && (await host.readUnbornBranch(repository, row.branch, signal)) === null)
    throw new PublicationFailed('target_moved')
  if (row.commit_object === null) throw new Error('a commit that no branch has is not stored')
  await using own = await openReviewed(context, source, await reviewOf(context, claim), signal)
  await addCommit(own, row.commit_object, signal)
  const remote = await host.access(repository, 'write', signal)
  const move = {
    ref: `refs/heads/${row.branch}`,
    from: row.moves_from,
    to: row.commit_sha,
    fetch: row.parent_oid === source.baseOid ? null : `refs/heads/${row.branch}`,
  }
  switch (await push(own.gitDir, remote, move, signal)) {
    case 'pushed':
      return
    case 'moved': {
      const stands = (await findBranch(source, row.branch, signal))?.oid ?? null
      // Our own push may have moved it, if its answer was lost.
      if (stands === row.commit_sha) return
      if (stands === row.moves_from) {
        await requireRoom(claim, source, signal)
        // Another push holds the branch, or held it and was given up.
        throw new GitHostError('unavailable', 'the branch is locked')
      }
      return await refuseMoved(claim, source, signal)
    }
    case 'obstructed':
      await requireRoom(claim, source, signal)
      throw new PublicationFailed('branch_exists')
    case 'protected':
      throw new PublicationFailed('branch_protected')
    case 'forbidden':
      throw new PublicationFailed('repository_permission_denied')
    case 'refused':
      throw new PublicationFailed('git_host_refused')
  }
}

/**
 * Fails because the branch is not where it was when the Publication was prepared.
 * @throws PublicationFailed
 */
async function refuseMoved(claim: PublicationClaim, source: DeliverySource, signal: AbortSignal): Promise<never> {
  if (goesToTarget(claim.row, source)) throw new PublicationFailed('target_moved')
  await requireRoom(claim, source, signal)
  throw new PublicationFailed('branch_moved')
}

/**
 * Requires that no other branch takes the place of one that is still to be made.
 * @throws PublicationFailed `branch_exists`, with the branch that is in the way
 */
async function requireRoom({ row }: PublicationClaim, source: DeliverySource, signal: AbortSignal): Promise<void> {
  if (row.moves_from !== null) return
  const obstacle = await findObstacle(source, { sessionId: row.session_id, branch: row.branch }, signal)
  if (obstacle !== null) throw new PublicationFailed('branch_exists', { obstacle })
}

/**
 * Returns the branch's open pull request, or opens one. It first records that none was open, so that an attempt after a
 * crash does not report its own as reused.
 */
async function providePull(
  context: DeliveryContext,
  { claim, row }: PublicationClaim,
  source: DeliverySource,
  rendered: RenderedEvidence,
  signal: AbortSignal,
): Promise<{ pull: HostPull; reused: boolean }> {
  const { host, repository, baseBranch } = source
  const find = () => host.findOpenPull(repository, { head: row.branch, base: baseBranch }, signal)
  const open = await find()
  if (open !== null) return { pull: open, reused: !row.opening }
  if ((await markOpening(context.db, claim, context.clock.now())) === null) throw new ClaimTaken()
  const { title, branch: head, draft } = row
  const body = describedBy(row.body, rendered)
  try {
    const pull = await host.openPull(repository, { title, body, head, base: baseBranch, draft }, signal)
    return { pull, reused: false }
  } catch (error) {
    if (!(error instanceof GitHostError)) throw error
    if (error.kind === 'conflict') {
      const theirs = await find()
      if (theirs !== null) return { pull: theirs, reused: true }
    }
    if (error.kind !== 'conflict' && error.kind !== 'invalid') throw error
    const rewritten = await isBaseRewritten(context, source, signal)
    await takeBack(context, row, source, signal)
    throw new PublicationFailed(rewritten ? 'base_rewritten' : 'pull_request_refused', { cause: error })
  }
}

/** Removes the branch of a pull request that was refused, if this Publication made it and nobody has moved it since. */
async function takeBack(
  context: DeliveryContext,
  { branch, moves_from, commit_sha }: PublicationRow,
  source: DeliverySource,
  signal: AbortSignal,
): Promise<void> {
  if (moves_from !== null || commit_sha === null) return
  await removeAtHost(context, source, { ref: `refs/heads/${branch}`, oid: commit_sha }, signal)
}

/** Removes a ref of the host if it stands at a commit. */
async function removeAtHost(
  context: DeliveryContext,
  { host, repository }: DeliverySource,
  ref: { readonly ref: string; readonly oid: string },
  signal: AbortSignal,
): Promise<void> {
  await using scratch = await openScratch(context.scratchDir)
  const { gitDir } = await openOwnRepository(scratch.path, [], nobody)
  await removeRef(gitDir, await host.access(repository, 'write', signal), ref, signal)
}

/** Thrown if another worker has claimed the row, or it has ended: this worker's results no longer count. */
export class ClaimTaken extends Error {
  override readonly name = 'ClaimTaken'
}
