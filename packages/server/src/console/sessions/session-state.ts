import type { SessionState } from '@berth/contract'
import { phaseOf } from '../../sessions/session/phase.ts'
import type { SessionStateRow } from './session-state-sql.ts'

/** Returns what lists show of a Session beside the Session itself. */
export function toSessionState(row: SessionStateRow): SessionState {
  return {
    id: row.id,
    title: row.title,
    lastEventSequence: row.last_event_sequence,
    updatedAt: row.updated_at.toISOString(),
    phase: phaseOf(row.active_run_status, row.finalizing),
    archived: row.archived,
    attention: attentionOf(row),
    unread: row.last_event_sequence > row.read_sequence,
    pinned: row.pinned,
  }
}

function attentionOf({ open_interactions, first_kind, first_deadline }: SessionStateRow): SessionState['attention'] {
  if (open_interactions === 0 || first_kind === null) return null
  return {
    openInteractions: open_interactions,
    kind: first_kind,
    ...(first_deadline !== null && { deadline: first_deadline.toISOString() }),
  }
}
