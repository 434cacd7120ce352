import type { SessionState } from '@berth/contract'
import { phaseOf } from '@berth/core/sessions/session/phase.ts'
import type { SessionStateRow } from './session-state-sql.ts'

/** Returns the members that lists add to a Session. */
export function toSessionState(row: SessionStateRow): SessionState {
  return {
    id: row.id,
    title: row.title,
    lastEventSequence: row.last_event_sequence,
    updatedAt: row.updated_at.toISOString(),
    phase: phaseOf(row.active_run_status, row.finalizing),
    status: row.status,
    lastRun: row.last_run,
    archived: row.archived,
    attention: attentionOf(row),
    // Somebody else's Session that the person never opened is no news: a team's list would be all dots.
    unread: row.read_sequence !== null && row.last_event_sequence > row.read_sequence,
    pinned: row.pinned,
    snoozed: row.snoozed ? (row.snoozed_until === null ? {} : { until: row.snoozed_until.toISOString() }) : null,
    viewedMarks: row.viewed_marks,
    workLost: row.work_lost,
    costUsd: row.cost_usd,
    pull: pullOf(row),
    startedBy: row.started_by === null ? null : { id: row.started_by, name: row.started_by_name ?? '' },
    startedThrough: row.started_through,
  }
}

function pullOf({ pull, merge_status }: SessionStateRow): SessionState['pull'] {
  return pull === null ? null : { number: pull.number, url: pull.url, draft: pull.draft, merge: merge_status }
}

function attentionOf({ open_interactions, first_kind, first_deadline }: SessionStateRow): SessionState['attention'] {
  if (open_interactions === 0 || first_kind === null) return null
  return {
    openInteractions: open_interactions,
    kind: first_kind,
    ...(first_deadline !== null && { deadline: first_deadline.toISOString() }),
  }
}
