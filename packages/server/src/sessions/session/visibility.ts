import type { Principal } from '../../identity/guard/principal.ts'
import { sessionNotFound } from '../../kit/refusal.ts'
import type { SessionRow } from './session.ts'

/** Whose a Session is. */
type Owned = Pick<SessionRow, 'organization_id' | 'owner_id'>

/** An installation sees the Sessions it owns, a person every Session of the organization (completions, Who sees what). */
export function sees(principal: Principal, row: Owned): boolean {
  return (
    row.organization_id === principal.organizationId && (principal.kind === 'person' || row.owner_id === principal.id)
  )
}

/** @throws ApiError 404 `cloud_session_not_found` for what is missing and what is unseen alike. */
export function requireSeen<Row extends Owned>(principal: Principal, row: Row | null): Row {
  if (row === null || !sees(principal, row)) throw sessionNotFound()
  return row
}
