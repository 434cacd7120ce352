import type { Principal } from '../../identity/guard/principal.ts'
import { sessionNotFound } from '../../kit/refusal.ts'
import type { SessionRow } from './session.ts'

/** The columns that tell who owns a Session. */
type Owned = Pick<SessionRow, 'organization_id' | 'owner_id'>

/**
 * Returns true if the caller sees the Session: installations see those they own, people all of their organization's.
 */
export function sees(principal: Principal, row: Owned): boolean {
  return (
    row.organization_id === principal.organizationId && (principal.kind === 'person' || row.owner_id === principal.id)
  )
}

/**
 * Returns the row if the caller sees it.
 * @throws ApiError 404 `cloud_session_not_found` if it is missing or hidden from the caller, without telling which
 */
export function requireSeen<Row extends Owned>(principal: Principal, row: Row | null): Row {
  if (row === null || !sees(principal, row)) throw sessionNotFound()
  return row
}
