import type { EnvironmentTrial, EventData } from '@berth/contract'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { belongsTo } from '../session/read-session.ts'
import type { TrialRow } from './trial-sql.ts'

/** Returns the resource of a trial. */
export function toTrial(row: TrialRow): EnvironmentTrial {
  const { outcome } = row
  const isStopped = outcome === 'asked' || outcome === 'unwatched' || outcome === 'overdue'
  return {
    id: row.session_id,
    environmentId: row.environment_id,
    revision: row.revision,
    state: isStopped ? 'stopped' : (outcome ?? (row.lease_state === 'applying' ? 'applying' : 'starting')),
    ...(isStopped && { stopReason: outcome }),
    startedBy: row.initiated_by === null ? ownerOf(row) : { kind: 'person', id: row.initiated_by },
    createdAt: row.created_at.toISOString(),
    endsAt: row.expires_at.toISOString(),
    endedAt: row.ended_at?.toISOString() ?? null,
    result: resultOf(row.envelope),
  }
}

const ownerOf = ({ owner_kind: kind, owner_id: id }: TrialRow) => ({ kind, id })

/** Returns what the newest Event of the apply says if it is the one that ends it. */
function resultOf(envelope: string | null): EventData<'svc.environment.apply'> | null {
  if (envelope === null) return null
  const { data } = JSON.parse(envelope) as { readonly data: EventData<'svc.environment.apply'> }
  return data.status === 'started' ? null : data
}

/**
 * Returns the row if the caller sees it: installations see the trials that they started, people all of their
 * organization's.
 * @throws ApiError 404 `environment_trial_not_found` if it is missing, hidden, or of another environment
 */
export function requireTrial(principal: Principal, environmentId: string, row: TrialRow | null): TrialRow {
  if (row === null || row.environment_id !== environmentId || !belongsTo(principal, row)) {
    throw refusal('environment_trial_not_found')
  }
  return row
}
