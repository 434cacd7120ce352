import { type CreateSession, emptyTreeOid, type Source } from '@berth/contract'
import { invalidField, refusal } from '@berth/platform/kit/refusal.ts'
import type { Context } from '../context.ts'
import { isBranchName } from '../git/branch-name.ts'
import { type GitHost, GitHostError, type RepositoryRef } from '../git-hosts/git-host.ts'
import { findActiveGrant } from './active-grant.ts'
import type { GrantRow } from './grant.ts'
import { findGrant, type Grantee } from './grant-sql.ts'
import { hostRefusal } from './host-refusal.ts'
import { requireOwnAccess } from './people/require-own-access.ts'

/** Longest that a host may take over a Session's admission, in milliseconds. */
const ADMISSION_MS = 20_000

/**
 * Pins the source of a Session: looks the branch up at the host now. A repository without a commit is pinned to the empty
 * tree, on the branch that its first commit will make: the wanted one, or the host's default.
 * @param personId who asks for it; null for an installation, which its grant alone lets in. No installation uses a
 *   connection that asks people for access of their own: whoever causes its work might have none.
 * @throws ApiError 403 if the grant or the repository is not available
 * @throws ApiError 400 `cloud_repository_branch_not_found`
 * @throws ApiError 503, with the delay that the host asks for, if the host does not answer
 */
export async function resolveSource(
  context: Context,
  grantee: Grantee,
  wanted: NonNullable<CreateSession['source']>,
  personId: string | null,
): Promise<Source> {
  const grant = await findGrant(context.db, grantee, wanted.grantId)
  const stands = grant !== null && grant.revoked_at === null && grant.replaced_by === null
  const meant = grant?.repository_id === wanted.repositoryId && (wanted.kind ?? grant.provider) === grant.provider
  if (!stands || !meant) throw refusal('cloud_repository_grant_required')
  const { host, repository } = reach(context, grant)
  await requireOwnAccess(context, personId, grant, 'read')
  const signal = AbortSignal.timeout(ADMISSION_MS)
  try {
    const found = await host.readRepository(repository, signal)
    const baseBranch = wanted.baseBranch ?? found.defaultBranch
    if (baseBranch === null) {
      throw refusal('cloud_repository_branch_not_found', {
        message:
          'The repository has no default branch: its HEAD is detached, or names a branch that does not exist. Name a branch in source.baseBranch.',
      })
    }
    if (baseBranch === 'HEAD') {
      throw invalidField(
        ['source', 'baseBranch'],
        'is called HEAD, by which git means a commit and not a branch; rename it',
      )
    }
    const baseOid = await readBase(host, repository, baseBranch, signal)
    return {
      kind: grant.provider,
      grantId: grant.id,
      repositoryId: grant.repository_id,
      label: wanted.label ?? found.fullName,
      private: found.private,
      baseBranch,
      baseOid,
    }
  } catch (error) {
    if (error instanceof GitHostError) throw hostRefusal(error)
    if (signal.aborted) throw refusal('cloud_workspace_unavailable')
    throw error
  }
}

/**
 * Returns the tip of a branch, or the empty tree if the repository has no commit.
 * @throws GitHostError `not_found` with `subject: 'branch'`
 * @throws ApiError 400 if the branch can never be made
 */
async function readBase(
  host: GitHost,
  repository: RepositoryRef,
  branch: string,
  signal: AbortSignal,
): Promise<string> {
  try {
    return (await host.readBranch(repository, branch, signal)).oid
  } catch (error) {
    if (!(error instanceof GitHostError) || error.kind !== 'not_found' || error.subject !== 'branch') throw error
    const unborn = await host.readUnbornBranch(repository, branch, signal)
    if (unborn === null) throw error
    if (!isBranchName(branch)) throw invalidField(['source', 'baseBranch'], 'is not a name that git takes for a branch')
    if (unborn.objectFormat === 'sha1') return emptyTreeOid
    throw refusal('cloud_repository_branch_not_found', {
      message: 'The repository names its objects by SHA-256. Sessions need one that names them by SHA-1.',
    })
  }
}

/** A Session's repository and the host that has it. */
export interface ReachedSource {
  readonly host: GitHost
  readonly repository: RepositoryRef
  readonly grant: GrantRow
}

/**
 * Returns how a Session's source is reached today: through its grant, or the grant that replaced it.
 * @param grantee the Session's organization and the installation that owns it
 * @throws ApiError 403 `cloud_repository_grant_required`, `cloud_github_connection_required`
 */
export async function reachSource(
  context: Context,
  grantee: Grantee,
  source: Pick<Source, 'grantId'>,
): Promise<ReachedSource> {
  const grant = await findActiveGrant(context.db, grantee, source.grantId)
  if (grant === null) throw refusal('cloud_repository_grant_required')
  return { ...reach(context, grant), grant }
}

/**
 * Returns how the repository of a grant is reached.
 * @throws ApiError 403 `cloud_github_connection_required` if the deployment no longer has its host
 */
export function reach(context: Context, grant: GrantRow): { host: GitHost; repository: RepositoryRef } {
  const host = context.gitHosts.find(grant.host)
  if (host === null) throw refusal('cloud_github_connection_required')
  return { host, repository: { account: grant.account, repositoryId: grant.repository_id } }
}
