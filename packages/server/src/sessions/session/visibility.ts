import type { Principal } from '../../identity/guard/principal.ts'
import { sessionNotFound } from '../../kit/refusal.ts'
import type { SessionRow } from './session.ts'

/** The columns that tell who owns a Session. */
type Owned = Pick<SessionRow, 'organization_id' | 'owner_id' | 'is_trial'>

/** Returns true if a Session belongs to the caller: to the installation itself, or to the organization of the person. */
export function belongsTo(principal: Principal, row: Omit<Owned, 'is_trial'>): boolean {
  return (
    row.organization_id === principal.organizationId && (principal.kind === 'person' || row.owner_id === principal.id)
  )
}

/**
 * Returns true if the caller sees the Session: installations see those they own, people all of their organization's.
 * Nobody sees the Session of a trial: only `sessions/trials` shows what happens in it.
 */
export function sees(principal: Principal, row: Owned): boolean {
  return !row.is_trial && belongsTo(principal, row)
}

/**
 * Returns the row if the caller sees it.
 * @throws ApiError 404 `cloud_session_not_found` if it is missing or hidden from the caller, without telling which
 */
export function requireSeen<Row extends Owned>(principal: Principal, row: Row | null): Row {
  if (row === null || !sees(principal, row)) throw sessionNotFound()
  return row
}
