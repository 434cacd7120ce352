import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Context } from '../../context.ts'
import { GitHostError } from '../../git-hosts/git-host.ts'
import type { GrantRow } from '../grant.ts'
import { hostRefusal } from '../host-refusal.ts'
import { findHostPerson } from './host-person-sql.ts'
import { withPersonToken } from './person-tokens.ts'

/** Longest that a host may take, in milliseconds: somebody waits for it. */
const ASKING_MS = 8_000

/**
 * Requires that a person reaches the repository of a grant with an account of their own, if its connection asks for that.
 * The host is asked now, so whoever lost access there has lost it here.
 * @param personId null if no person asks, who then reaches nothing
 * @param right what the person is about to do in the repository
 * @throws ApiError 403 `cloud_github_connection_required` if nobody asks, they have connected no account, or it has
 *   expired
 * @throws ApiError 403 `cloud_repository_permission_denied` if the account does not reach the repository
 * @throws ApiError 503 `cloud_workspace_unavailable` if the host does not answer
 */
export async function requireOwnAccess(
  context: Pick<Context, 'db' | 'clock' | 'gitHosts'>,
  personId: string | null,
  grant: Pick<GrantRow, 'host' | 'personal' | 'repository_id'>,
  right: 'read' | 'write',
): Promise<void> {
  if (!grant.personal) return
  const people = context.gitHosts.find(grant.host)?.people
  const own =
    people === undefined || personId === null ? null : await findHostPerson(context.db, personId, { host: grant.host })
  if (people === undefined || own === null) throw refusal('cloud_github_connection_required')
  const late = AbortSignal.timeout(ASKING_MS)
  try {
    const held = await withPersonToken(context, people, own, access =>
      people.rightIn(access, grant.repository_id, late),
    )
    if (held === 'write' || held === right) return
  } catch (error) {
    if (error instanceof GitHostError) throw hostRefusal(error)
    if (late.aborted) throw refusal('cloud_workspace_unavailable')
    throw error
  }
  throw refusal('cloud_repository_permission_denied')
}
