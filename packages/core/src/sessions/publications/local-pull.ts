import type { LocalPull } from '@berth/contract'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { findOwnInstallation } from '../../accounts/installations/own-installation.ts'
import type { Context } from '../../context.ts'
import { GitHostError } from '../../git-hosts/git-host.ts'
import { LOCAL_ACCOUNT, LOCAL_HOST } from '../../git-hosts/local/local-host.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { findGrantOf } from '../../repositories/grant-sql.ts'
import { toCheck } from './check.ts'
import { hasPublishedPull } from './publication-sql.ts'

/**
 * Reads a pull request of a repository that the service itself hosts, for a caller who sees the Session that published
 * it or holds a grant of the repository. People hold the grants of their organization's own connections.
 * @throws ApiError 404 `cloud_repository_grant_not_found`
 */
export async function readLocalPull(
  { db, gitHosts }: Context,
  principal: Principal,
  { repositoryId, number }: { readonly repositoryId: string; readonly number: string },
  signal: AbortSignal,
): Promise<LocalPull> {
  const host = gitHosts.find(LOCAL_HOST)
  const pull = { host: LOCAL_HOST, repositoryId, number }
  if (host === null || !((await hasPublished(principal)) || (await holdsGrant(principal)))) throw hidden()
  try {
    const repository = { account: LOCAL_ACCOUNT, repositoryId }
    const read = await host.readPull(repository, Number(number), signal)
    const checks = read.state === 'open' ? await host.readChecks(repository, read, signal) : []
    return { ...read, blockers: [...read.blockers], checks: (checks ?? []).map(toCheck) }
  } catch (error) {
    if (!(error instanceof GitHostError) || error.kind !== 'not_found') throw error
    throw hidden()
  }

  function hasPublished({ kind, organizationId, id }: Principal): Promise<boolean> {
    return hasPublishedPull(db, organizationId, kind === 'person' ? null : id, pull)
  }

  async function holdsGrant({ kind, organizationId, id }: Principal): Promise<boolean> {
    const installationId = kind === 'person' ? await findOwnInstallation(db, organizationId) : id
    return installationId !== null && (await findGrantOf(db, { organizationId, installationId }, pull)) !== null
  }
}

const hidden = () => refusal('cloud_repository_grant_not_found')
