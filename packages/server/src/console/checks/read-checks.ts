import type { PullChecks } from '@berth/contract'
import type { Context } from '@berth/core/context.ts'
import { GitHostError } from '@berth/core/git-hosts/git-host.ts'
import type { Principal } from '@berth/core/identity/guard/principal.ts'
import { hostRefusal } from '@berth/core/repositories/host-refusal.ts'
import { reachSource } from '@berth/core/repositories/resolve-source.ts'
import { toCheck } from '@berth/core/sessions/publications/check.ts'
import { findPublication } from '@berth/core/sessions/publications/publication-sql.ts'
import { readSession } from '@berth/core/sessions/session/read-session.ts'
import { refusal, sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'

/** Longest that a host may take, in milliseconds: the page shows the rest meanwhile. */
const ASKING_MS = 10_000

/**
 * Reads the obstacles to a merge of a Publication's pull request, and its checks by name, live from the Git host.
 * @throws ApiError 404 `cloud_session_not_found`
 * @throws ApiError 409 `cloud_publication_not_mergeable` if the Publication has no pull request
 * @throws ApiError 403 or 503 if the host does not give it
 */
export async function readChecks(
  context: Context,
  principal: Principal,
  key: SessionKey,
  publicationId: string,
  signal: AbortSignal,
): Promise<PullChecks> {
  const session = await readSession(context, principal, key)
  const publication = await findPublication(context.db, key, publicationId)
  if (publication === null || session.source === null) throw sessionNotFound()
  const published = publication.result?.pullRequest
  if (published === undefined) throw refusal('cloud_publication_not_mergeable')
  const grantee = { organizationId: key.organizationId, installationId: session.owner_id }
  const { host, repository } = await reachSource(context, grantee, session.source)
  const late = AbortSignal.timeout(ASKING_MS)
  const either = AbortSignal.any([signal, late])
  try {
    const pull = await host.readPull(repository, published.number, either)
    const checks = pull.state === 'open' ? await host.readChecks(repository, pull, either) : []
    return {
      state: pull.state,
      headOid: pull.headOid,
      blockers: [...pull.blockers],
      known: checks !== null,
      checks: (checks ?? []).map(toCheck),
    }
  } catch (error) {
    if (error instanceof GitHostError) throw hostRefusal(error)
    if (late.aborted) throw refusal('cloud_workspace_unavailable')
    throw error
  }
}
