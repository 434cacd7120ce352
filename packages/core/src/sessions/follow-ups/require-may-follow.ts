import type { FollowUpRequest } from '@berth/contract'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Principal } from '../../identity/guard/principal.ts'

/**
 * Requires that whoever asks for a follow-up may do everything that it is to do.
 * @throws ApiError 403 `insufficient_scope` if it is to merge and the caller may not
 */
export function requireMayFollow({ capabilities }: Principal, { merge }: FollowUpRequest): void {
  const requiredScope = 'svc.cloud.merges:create'
  if (merge === 'when_ready' && !capabilities.has(requiredScope)) throw refusal('insufficient_scope', { requiredScope })
}
