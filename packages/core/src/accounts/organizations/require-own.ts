import { refusal } from '@berth/platform/kit/refusal.ts'
import type { PersonPrincipal } from '../../identity/guard/principal.ts'

/**
 * Refuses a path that names another organization than the caller's token, as one that is not there.
 * @throws ApiError 404 `organization_not_found`
 */
export function requireOwn({ organizationId }: PersonPrincipal, requested: string): void {
  if (requested !== organizationId) throw refusal('organization_not_found')
}
