import type { Queryable } from '../storage/database.ts'
import { type EventDraft, type SplitEnvelope, splitEnvelope } from './envelope.ts'

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
export function appendEvents(
  tx: Queryable,
  key: SessionKey,
  drafts: readonly EventDraft[],
  now: Date,
): Promise<number | null> {
  return appendBatch(tx, key, toBatch(key, drafts, now))
}

/** Events as text, ready to be appended. */
export interface EventBatch {
  readonly now: Date
  readonly envelopes: readonly ({ readonly type: string; readonly runId: string | null } & SplitEnvelope)[]
  /** Of all envelopes, in UTF-8. */
  readonly bytes: number
}

/** Serialises events, for a caller that counts them. */
export function toBatch({ sessionId }: SessionKey, drafts: readonly EventDraft[], now: Date): EventBatch {
  const envelopes = drafts.map(draft => ({
    type: draft.type,
    runId: draft.runId ?? null,
    ...splitEnvelope(draft, sessionId, now),
  }))
  const bytes = envelopes.reduce((sum, { head, tail }) => sum + Buffer.byteLength(head) + Buffer.byteLength(tail), 0)
  return { now, envelopes, bytes }
}

/** As `appendEvents`, of events that are serialised already. */
export async function appendBatch(
  tx: Queryable,
  { organizationId, sessionId }: SessionKey,
  { now, envelopes }: EventBatch,
): Promise<number | null> {
  const [only] = envelopes
  const { rows } = await tx.query<{ last: number }>(
    envelopes.length === 1 && only !== undefined
      ? {
          name: 'append-event',
          text: appendOne,
          values: [organizationId, sessionId, now.toISOString(), only.type, only.runId, only.head, only.tail],
        }
      : {
          name: 'append-events',
          text: appendMany,
          values: [
            organizationId,
            sessionId,
            now,
            envelopes.map(({ type }) => type),
            envelopes.map(({ runId }) => runId),
            envelopes.map(({ head }) => head),
            envelopes.map(({ tail }) => tail),
          ],
        },
  )
  return rows[0]?.last ?? null
}

/** One Event costs half of what the general statement does: its plan can be kept, one over arrays is made each time. */
const appendOne = `
  with head as (
    update sessions set last_event_sequence = last_event_sequence + 1, updated_at = greatest(updated_at, $3)
    where organization_id = $1 and id = $2
    returning last_event_sequence as last
  )
  insert into events (organization_id, session_id, sequence, type, run_id, envelope)
  select $1, $2, last, $4, $5, $6 || last::text || $7 from head
  returning sequence as last`

const appendMany = `
  with head as (
    update sessions
    set last_event_sequence = last_event_sequence + cardinality($4::text[]), updated_at = greatest(updated_at, $3)
    where organization_id = $1 and id = $2
    returning last_event_sequence as last
  ), written as (
    insert into events (organization_id, session_id, sequence, type, run_id, envelope)
    select $1, $2, last - cardinality($4::text[]) + n, type, run_id,
      envelope_head || (last - cardinality($4::text[]) + n)::text || envelope_tail
    from head,
      unnest($4::text[], $5::uuid[], $6::text[], $7::text[]) with ordinality
        as draft (type, run_id, envelope_head, envelope_tail, n)
  )
  select last from head`
