import type { Queryable } from '../storage/database.ts'
import { type EventDraft, splitEnvelope } from './envelope.ts'

/** The Session whose log is meant; ids of Sessions are unique per organization only. */
export interface SessionKey {
  readonly organizationId: string
  readonly sessionId: string
}

/**
 * Appends events in the caller's transaction, in order, and touches the Session.
 *
 * The sequence comes from the Session's row under its lock, which the transaction holds until it commits: whoever
 * sees sequence n has seen all before it, and a rollback leaves no gap.
 * @returns the newest sequence, or null where there is no such Session.
 */
export async function appendEvents(
  tx: Queryable,
  { organizationId, sessionId }: SessionKey,
  drafts: readonly EventDraft[],
  now: Date,
): Promise<number | null> {
  const envelopes = drafts.map(draft => splitEnvelope(draft, sessionId, now))
  const { rows } = await tx.query<{ last: number }>({
    name: 'append-events',
    text: `
      with head as (
        update sessions
        set last_event_sequence = last_event_sequence + cardinality($4::text[]), updated_at = greatest(updated_at, $3)
        where organization_id = $1 and id = $2
        returning last_event_sequence as last
      ), written as (
        insert into events (organization_id, session_id, sequence, run_id, type, envelope)
        select $1, $2, last - cardinality($4::text[]) + n, run_id, type,
          envelope_head || (last - cardinality($4::text[]) + n)::text || envelope_tail
        from head,
          unnest($4::text[], $5::uuid[], $6::text[], $7::text[]) with ordinality
            as draft (type, run_id, envelope_head, envelope_tail, n)
      )
      select last from head`,
    values: [
      organizationId,
      sessionId,
      now,
      drafts.map(draft => draft.type),
      drafts.map(draft => draft.runId ?? null),
      envelopes.map(envelope => envelope.head),
      envelopes.map(envelope => envelope.tail),
    ],
  })
  return rows[0]?.last ?? null
}
