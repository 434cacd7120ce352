import type { LocalPull } from '@berth/contract'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { findOwnInstallation } from '../../accounts/installations/own-installation.ts'
import type { Context } from '../../context.ts'
import { type GitHost, GitHostError } from '../../git-hosts/git-host.ts'
import { LOCAL_ACCOUNT, LOCAL_HOST } from '../../git-hosts/local/local-host.ts'
import { listReviews } from '../../git-hosts/local/local-review-sql.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { findGrantOf } from '../../repositories/grant-sql.ts'
import { toCheck } from './check.ts'
import { toReview } from './local-review.ts'
import { hasPublishedPull } from './publication-sql.ts'

interface At {
  readonly repositoryId: string
  readonly number: string
}

/**
 * Reads a pull request of a repository that the service itself hosts, for a caller who sees the Session that published
 * it or holds a grant of the repository. People hold the grants of their organization's own connections.
 * @throws ApiError 404 `cloud_repository_grant_not_found`
 */
export async function readLocalPull(
  context: Context,
  principal: Principal,
  { repositoryId, number }: At,
  signal: AbortSignal,
): Promise<LocalPull> {
  const host = await requireLocalPull(context, principal, { repositoryId, number })
  try {
    const repository = { account: LOCAL_ACCOUNT, repositoryId }
    const read = await host.readPull(repository, Number(number), signal)
    const checks = read.state === 'open' ? await host.readChecks(repository, read, signal) : []
    const reviews = (await listReviews(context.db, { repositoryId, number: Number(number) })).map(toReview)
    return { ...read, blockers: [...read.blockers], checks: (checks ?? []).map(toCheck), reviews }
  } catch (error) {
    if (!(error instanceof GitHostError) || error.kind !== 'not_found') throw error
    throw hiddenPull()
  }
}

/**
 * Returns the host of a local pull request that the caller sees; whether there is such a one, the host knows.
 * @throws ApiError 404 `cloud_repository_grant_not_found`
 */
export async function requireLocalPull(
  { db, gitHosts }: Pick<Context, 'db' | 'gitHosts'>,
  principal: Principal,
  { repositoryId, number }: At,
): Promise<GitHost> {
  const host = gitHosts.find(LOCAL_HOST)
  const pull = { host: LOCAL_HOST, repositoryId, number }
  if (host === null || !((await hasPublished(principal)) || (await holdsGrant(principal)))) throw hiddenPull()
  return host

  function hasPublished({ kind, organizationId, id }: Principal): Promise<boolean> {
    return hasPublishedPull(db, organizationId, kind === 'person' ? null : id, pull)
  }

  async function holdsGrant({ kind, organizationId, id }: Principal): Promise<boolean> {
    const installationId = kind === 'person' ? await findOwnInstallation(db, organizationId) : id
    return installationId !== null && (await findGrantOf(db, { organizationId, installationId }, pull)) !== null
  }
}

export const hiddenPull = () => refusal('cloud_repository_grant_not_found')
