import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { findActiveGrant } from '../../repositories/active-grant.ts'
import { requireOwnAccess } from '../../repositories/people/require-own-access.ts'
import { sees } from '../session/read-session.ts'
import { findSession } from '../session/session-sql.ts'

/**
 * Requires that a person who delivers may write to the repository with an account of their own, if its connection asks
 * for that. The host is asked before anything is locked. What else is wrong with the request is for its own checks.
 * @throws ApiError 403 `cloud_github_connection_required`, `cloud_repository_permission_denied`
 * @throws ApiError 503 `cloud_workspace_unavailable`
 */
export async function requireDeliverer(context: Context, principal: Principal, key: SessionKey): Promise<void> {
  if (principal.kind !== 'person') return
  const session = await findSession(context.db, key)
  if (session === null || session.source === null || !sees(principal, session)) return
  const grantee = { organizationId: key.organizationId, installationId: session.owner_id }
  const grant = await findActiveGrant(context.db, grantee, session.source.grantId)
  if (grant !== null) await requireOwnAccess(context, principal.id, grant, 'write')
}
