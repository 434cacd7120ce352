import type { CreateSession, Source } from '@berth/contract'
import type { Context } from '../context.ts'
import type { Principal } from '../identity/guard/principal.ts'
import { resolveSource } from '../repositories/resolve-source.ts'

/** Who owns a Session, and the repository that it starts from. */
export interface SettledSource {
  readonly owner: Pick<Principal, 'kind' | 'id'>
  /** The person who asked for a Session that another principal owns. */
  readonly initiatedBy: string | null
  readonly source: Source | null
}

/**
 * Settles the owner and the source of a Session. The owner is the caller, except for a person who names a repository: the
 * service's own installation has the grant. The host is asked, so nothing may be locked.
 * @param sourceOwner provides the installation that owns a person's Session with a source; null: people may have none
 * @throws ApiError 400, 403 or 503, as `resolveSource`
 */
export async function settleSource(
  context: Context,
  principal: Principal,
  wanted: CreateSession['source'],
  sourceOwner: (() => Promise<string>) | null,
): Promise<SettledSource> {
  if (wanted === undefined) return { owner: principal, initiatedBy: null, source: null }
  const handedOver = principal.kind === 'person' && sourceOwner !== null
  const owner = handedOver ? { kind: 'app_installation' as const, id: await sourceOwner() } : principal
  const grantee = { organizationId: principal.organizationId, installationId: owner.id }
  const personId = principal.kind === 'person' ? principal.id : null
  const source = await resolveSource(context, grantee, wanted, personId)
  return { owner, initiatedBy: handedOver ? principal.id : null, source }
}
