import { sessionNotFound } from '../api-errors.ts'
import type { Principal } from '../identity/principal.ts'
import type { SessionRow } from './session.ts'

/** An installation sees the Sessions it owns, a person every Session of the organization (completions, Who sees what). */
export function sees(principal: Principal, row: Pick<SessionRow, 'organization_id' | 'owner_id'>): boolean {
  return (
    row.organization_id === principal.organizationId && (principal.kind === 'person' || row.owner_id === principal.id)
  )
}

/** @throws ApiError 404 `cloud_session_not_found` for what is missing and what is unseen alike. */
export function requireSeen(principal: Principal, row: SessionRow | null): SessionRow {
  if (row === null || !sees(principal, row)) throw sessionNotFound()
  return row
}
