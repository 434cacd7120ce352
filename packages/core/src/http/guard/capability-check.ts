import { accessCapability, type GuardedOperation } from '@berth/contract'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { invalidCredential } from './bearer.ts'

/** Returns the capability or permission that an operation requires of this kind of principal. */
const required = (row: GuardedOperation, kind: Principal['kind']) =>
  kind === 'app_installation' ? (row.installationCapability ?? row.capability) : (row.permission ?? row.capability)

/** Returns whether a principal may call an operation, product access included. */
export const isAllowed = (row: GuardedOperation, principal: Principal): boolean =>
  principal.capabilities.has(accessCapability) &&
  (row.principal === undefined || row.principal === principal.kind) &&
  (holdsRequired(row, principal) || holdsAlternative(row, principal))

function holdsRequired(row: GuardedOperation, principal: Principal): boolean {
  const held: ReadonlySet<string> =
    principal.kind === 'person' && row.permission !== undefined ? principal.permissions : principal.capabilities
  return held.has(required(row, principal.kind))
}

const holdsAlternative = ({ installationAlternative }: GuardedOperation, { kind, capabilities }: Principal): boolean =>
  kind === 'app_installation' && installationAlternative !== undefined && capabilities.has(installationAlternative)

/**
 * Checks product access, then the kind of principal, then the operation's capability. The kind comes before the
 * capability because people never hold the capabilities of installation-only operations.
 * @throws ApiError 403
 */
export function requireCapability(row: GuardedOperation, principal: Principal): void {
  if (row.principal === 'person' && principal.kind !== 'person') throw invalidCredential()
  if (isAllowed(row, principal)) return
  if (!principal.capabilities.has(accessCapability)) throw refusal('cloud_access_denied')
  if (row.principal === 'app_installation' && principal.kind !== 'app_installation')
    throw refusal('installation_principal_required')
  throw refusal('insufficient_scope', { requiredScope: required(row, principal.kind) })
}
