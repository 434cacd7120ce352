import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import type { DeliverySource } from '../../delivery/sources.ts'
import type { RemoteAccess } from '../../git/remote-access.ts'
import { runGit } from '../../git/run-git.ts'
import { GitHostError, type HostCommit } from '../../git-hosts/git-host.ts'
import { addCommit, commitName, openReviewed, parentsIn } from './commit.ts'
import { reviewOf } from './prepare.ts'
import { PublicationFailed } from './publication-failed.ts'
import type { PublicationClaim } from './publication-sql.ts'
import { fetchCommit, type Pushed, push, removeRef } from './push.ts'

/** A commit that a host has made, as git writes it. */
interface MadeCommit {
  readonly sha: string
  readonly text: string
}

/**
 * Lets the host make the commit of a Publication and sign it; no branch gets it yet. The reviewed tree goes there below a
 * draft, an unsigned commit at a ref that is no branch: rules for branches would refuse it, and nobody sees it. The ref
 * is removed before this returns, and by the caller if this throws. An attempt that ended without a record of its commit
 * left one that nothing leads to, so the next attempt begins anew.
 * @throws PublicationFailed, GitHostError
 */
export async function makeAtHost(
  context: DeliveryContext,
  claim: PublicationClaim,
  source: DeliverySource,
  signal: AbortSignal,
): Promise<MadeCommit> {
  const { row } = claim
  const { host, repository } = source
  const { commit_object: text, parent_oid: parent } = row
  if (text === null || parent === null) throw new Error('a publication was attempted before it was prepared')
  if (host.signing === undefined) throw new PublicationFailed('commit_not_signed')
  const review = await reviewOf(context, claim)
  await using own = await openReviewed(context, source, review, signal)
  await addCommit(own, text, signal)
  const remote = await host.access(repository, 'write', signal)
  const draft = await draftOf(row.id, text, signal)
  const fetch = parent === source.baseOid ? null : `refs/heads/${row.branch}`
  requirePushed(await push(own.gitDir, remote, { ref: draft.ref, from: null, to: draft.oid, fetch }, signal))
  const commit = {
    tree: review.head_tree,
    parents: parentsIn(text),
    message: text.slice(text.indexOf('\n\n') + 2).trimEnd(),
  }
  const sha = await host.signing.makeCommit(repository, commit, signal)
  if (sha === null) throw new PublicationFailed('commit_not_signed')
  const made = await fetchMade(own.gitDir, remote, { sha, commit, draft: draft.oid }, signal)
  await removeRef(own.gitDir, remote, draft, signal)
  return made
}

/** Returns the draft of a Publication: where it is on the host, and its commit. */
export async function draftOf(
  id: string,
  text: string,
  signal: AbortSignal,
): Promise<{ readonly ref: string; readonly oid: string }> {
  return { ref: `refs/berth/drafts/${id}`, oid: await commitName(text, signal) }
}

/** @throws PublicationFailed, GitHostError if the draft is not there */
function requirePushed(pushed: Pushed): void {
  if (pushed === 'pushed') return
  if (pushed === 'forbidden' || pushed === 'protected') throw new PublicationFailed('repository_permission_denied')
  // Two workers may push the same draft at once, if the claim of one has lapsed.
  if (pushed === 'moved') throw new GitHostError('unavailable', 'the draft is locked')
  throw new PublicationFailed('git_host_refused')
}

/**
 * Returns the commit as the host has it.
 * @throws GitHostError `invalid` if it is not the one that was asked for: another tree or other parents, or no signature
 */
async function fetchMade(
  gitDir: string,
  remote: RemoteAccess,
  { sha, commit, draft }: { readonly sha: string; readonly commit: HostCommit; readonly draft: string },
  signal: AbortSignal,
): Promise<MadeCommit> {
  await fetchCommit(gitDir, remote, { wanted: sha, have: draft }, signal)
  const { stdout } = await runGit(['cat-file', 'commit', sha], { gitDir, signal })
  const text = stdout.toString('utf8')
  const parents = commit.parents.map(parent => `parent ${parent}\n`).join('')
  const [header = ''] = text.split('\n\n', 1)
  const matches = header.startsWith(`tree ${commit.tree}\n${parents}author `) && /^gpgsig /m.test(header)
  // It is stored as text, and pushed from there.
  if (matches && (await commitName(text, signal)) === sha) return { sha, text }
  throw new GitHostError('invalid', 'the host made another commit than was asked for')
}
