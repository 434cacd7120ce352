import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Context } from '../context.ts'
import { GitHostError } from '../git-hosts/git-host.ts'
import { findActiveGrant } from './active-grant.ts'
import type { Grantee } from './grant-sql.ts'
import { hostRefusal } from './host-refusal.ts'
import { requireOwnAccess } from './people/require-own-access.ts'
import { reach } from './resolve-source.ts'

/** The most that GitHub gives at once. */
const MAX_BRANCHES = 100
/** Longest that a host may take, in milliseconds: somebody waits for the list. */
const LISTING_MS = 8_000

/**
 * Returns branches of a granted repository by the beginning of their names, live from the host.
 * @throws ApiError 404 `cloud_repository_grant_not_found`, `cloud_repository_unavailable`
 * @throws ApiError 403 if the host no longer lets the grant's holder in
 * @throws ApiError 503 `cloud_workspace_unavailable` if the host does not answer in time
 */
export async function listBranches(
  context: Context,
  grantee: Grantee,
  {
    grantId,
    repositoryId,
    prefix,
  }: { readonly grantId: string; readonly repositoryId: string; readonly prefix: string },
  personId: string,
  signal: AbortSignal,
): Promise<{ readonly branches: string[]; readonly hasMore: boolean }> {
  const grant = await findActiveGrant(context.db, grantee, grantId)
  if (grant?.repository_id !== repositoryId) throw refusal('cloud_repository_grant_not_found')
  const { host, repository } = reach(context, grant)
  await requireOwnAccess(context, personId, grant, 'read')
  const late = AbortSignal.timeout(LISTING_MS)
  try {
    const names = { prefix, limit: MAX_BRANCHES }
    const found = await host.listBranches(repository, names, AbortSignal.any([signal, late]))
    return { branches: [...found], hasMore: found.length === MAX_BRANCHES }
  } catch (error) {
    if (error instanceof GitHostError) throw hostRefusal(error)
    if (late.aborted) throw refusal('cloud_workspace_unavailable')
    throw error
  }
}
