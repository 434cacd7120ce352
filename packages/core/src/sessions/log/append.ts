import { type EventFamily, eventCatalog } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { movedIn } from '@berth/platform/storage/postgres/moved-in.ts'
import { queueMany, queueOne } from '../../webhooks/queue-sql.ts'
import { type EventDraft, type SplitEnvelope, splitEnvelope } from './envelope.ts'
import { knownRedactor, loadRedactor, type VersionedRedactor } from './session-redactor.ts'

/**
 * Appends events in order, in the caller's transaction, and touches the Session.
 *
 * The Session's row hands out the sequence under its lock, which the transaction holds until it commits. A reader that
 * sees sequence n has therefore seen every earlier Event, and a rollback leaves no gap. The digest of the log is made under
 * the same lock: `chain.ts` says of what.
 *
 * The append masks the Session's secrets before it locks the row, with the secrets that this process knows. If the row
 * has another version by then, the statement writes nothing; the append loads the current secrets and tries again.
 * Appends of one transaction keep their order in that: the connection answers in order, and each append continues when
 * its own answer arrives.
 * @returns the newest sequence, or null if there is no such Session
 * @throws UnsealError if another master key has sealed the Session's secrets
 */
export function appendEvents(
  tx: Queryable,
  key: SessionKey,
  drafts: readonly EventDraft[],
  now: Date,
): Promise<number | null> {
  return appendBatch(tx, key, toBatch(tx, key, drafts, now))
}

/** Events as text, ready to be appended. */
export interface EventBatch {
  readonly now: Date
  readonly drafts: readonly EventDraft[]
  /** Version of the secrets that are masked in the text. */
  readonly secretsVersion: number
  readonly envelopes: readonly ({ readonly type: string; readonly runId: string | null } & SplitEnvelope)[]
  /** Size of all envelopes in UTF-8. */
  readonly bytes: number
}

/** Serialises events for a caller that counts them, and masks the secrets of their Session that this process knows. */
export function toBatch(db: Queryable, key: SessionKey, drafts: readonly EventDraft[], now: Date): EventBatch {
  return serialise(key, drafts, now, knownRedactor(db, key))
}

function serialise(
  { sessionId }: SessionKey,
  drafts: readonly EventDraft[],
  now: Date,
  { version, redactor }: VersionedRedactor,
): EventBatch {
  const envelopes = drafts.map(draft => ({
    type: draft.type,
    runId: draft.runId ?? null,
    ...splitEnvelope(draft, sessionId, now, redactor),
  }))
  const bytes = envelopes.reduce((sum, { head, tail }) => sum + Buffer.byteLength(head) + Buffer.byteLength(tail), 0)
  return { now, drafts, secretsVersion: version, envelopes, bytes }
}

/**
 * Appends serialised events as `appendEvents` does, and serialises them again if the Session's secrets have changed.
 */
export async function appendBatch(tx: Queryable, key: SessionKey, given: EventBatch): Promise<number | null> {
  for (let batch = given; ; ) {
    const last = await insertBatch(tx, key, batch)
    if (last !== null) return last
    const current = await loadRedactor(tx, key)
    if (current === null) return null
    batch = serialise(key, batch.drafts, batch.now, current)
  }
}

async function insertBatch(
  tx: Queryable,
  { organizationId, sessionId }: SessionKey,
  { now, envelopes, secretsVersion: version }: EventBatch,
): Promise<number | null> {
  const families = envelopes.map(({ type }) => familyOf(type))
  const queues = families.some(family => family !== null)
  const [only] = envelopes
  const { rows } = await tx.query<{ last: number }>(
    envelopes.length === 1 && only !== undefined
      ? {
          name: queues ? 'append-event-and-queue' : 'append-event',
          text: queues ? appendOneAndQueue : appendOne,
          values: [
            organizationId,
            sessionId,
            now.toISOString(),
            only.type,
            only.runId,
            only.head,
            only.tail,
            version,
            ...(queues ? families : []),
          ],
        }
      : {
          name: queues ? 'append-events-and-queue' : 'append-events',
          text: queues ? appendManyAndQueue : appendMany,
          values: [
            organizationId,
            sessionId,
            now,
            envelopes.map(({ type }) => type),
            envelopes.map(({ runId }) => runId),
            envelopes.map(({ head }) => head),
            envelopes.map(({ tail }) => tail),
            version,
            ...(queues ? [families] : []),
          ],
        },
  )
  return rows[0]?.last ?? null
}

/** Returns the family by which webhooks are sent the Event; null for most of them. */
const familyOf = (type: string): EventFamily | null =>
  Object.hasOwn(eventCatalog, type) ? eventCatalog[type as keyof typeof eventCatalog].family : null

/**
 * Assignments that go on with the chain of the log, from the old row as the lock shows it: a look at the Event before would
 * not see what another process has committed while this statement waited. They leave the chain if the secrets have changed.
 */
const chained = (digest: (prior: string) => string) => `
      chain_begins = coalesce(chain_begins, last_event_sequence + 1),
      log_digest = case when secrets_version = $8
        then ${digest('coalesce(log_digest, chain_seed(id, last_event_sequence + 1))')}
        else log_digest end,`

const chainedOne = chained(
  prior => `sha256(${prior} || convert_to($6 || (last_event_sequence + 1)::text || $7, 'UTF8'))`,
)

const chainedMany = chained(
  prior => `chain_events(${prior}, array(
          select head || (last_event_sequence + n)::text || tail
          from unnest($6::text[], $7::text[]) with ordinality as part (head, tail, n) order by n))`,
)

/**
 * Writes one Event at half the cost of the general statement: PostgreSQL keeps this plan, but plans a statement over
 * arrays each time.
 *
 * Each has a twin for Events with a family, which also writes their deliveries to webhooks. Few Events have one, so most
 * appends do not even look for endpoints.
 *
 * All of them lock the row even if its secrets have changed: a transaction takes the Session's lock before any
 * other.
 */
const appendingOne = (queue: string) => `
  with head as (
    update sessions
    set last_event_sequence = last_event_sequence + (secrets_version = $8)::integer,
      updated_at = greatest(updated_at, $3),${chainedOne}
      ${movedIn}
    where organization_id = $1 and id = $2
    returning last_event_sequence as last, secrets_version, owner_kind, owner_id, log_digest
  )${queue}
  insert into events (organization_id, session_id, sequence, type, run_id, envelope, digest)
  select $1, $2, last, $4, $5, $6 || last::text || $7, log_digest from head where secrets_version = $8
  returning sequence as last`

const appendOne = appendingOne('')
const appendOneAndQueue = appendingOne(`, ${queueOne}`)

const appendingMany = (queue: string) => `
  with head as (
    update sessions
    set last_event_sequence = last_event_sequence + (secrets_version = $8)::integer * cardinality($4::text[]),
      updated_at = greatest(updated_at, $3),${chainedMany}
      ${movedIn}
    where organization_id = $1 and id = $2
    returning last_event_sequence as last, secrets_version, owner_kind, owner_id, log_digest
  ), written as (
    insert into events (organization_id, session_id, sequence, type, run_id, envelope, digest)
    select $1, $2, last - cardinality($4::text[]) + n, type, run_id,
      envelope_head || (last - cardinality($4::text[]) + n)::text || envelope_tail,
      case when n = cardinality($4::text[]) then log_digest end
    from head,
      unnest($4::text[], $5::uuid[], $6::text[], $7::text[]) with ordinality
        as draft (type, run_id, envelope_head, envelope_tail, n)
    where secrets_version = $8
  )${queue}
  select last from head where secrets_version = $8`

const appendMany = appendingMany('')
const appendManyAndQueue = appendingMany(`, ${queueMany}`)
