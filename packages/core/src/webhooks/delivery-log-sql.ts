import type { WebhookDelivery, WebhookDeliveryStatus } from '@berth/contract'
import { eventCatalog, webhookLimits } from '@berth/contract'
import { type Queryable, queryChanged, queryRow, queryRows } from '@berth/platform/storage/postgres/database.ts'
import type { Attempt } from './delivery.ts'

/** Attempts that a row keeps when its delivery is sent again. */
const KEPT_ATTEMPTS = 24

/** A delivery as the log of its endpoint shows it. */
export interface LoggedRow {
  readonly id: string
  readonly session_id: string | null
  readonly sequence: number | null
  readonly status: WebhookDeliveryStatus
  readonly attempts: readonly Attempt[]
  readonly next_at: Date
  readonly created_at: Date
  readonly event_id: string
  readonly type: string
}

// An envelope is text, and its first two members are its id and its type.
const logged = `
  select d.id, d.session_id, d.sequence, d.status, d.attempts, greatest(d.due_at, d.created_at) as next_at,
    d.created_at, coalesce(d.body, v.envelope)::json ->> 'id' as event_id,
    coalesce(d.body, v.envelope)::json ->> 'type' as type`

const ofEvents = `
  left join events v on v.organization_id = d.organization_id and v.session_id = d.session_id
    and v.sequence = d.sequence`

/** Lists deliveries before a cursor, newest first, on `webhook_deliveries_in_order`. */
export async function listDeliveries(
  db: Queryable,
  endpointId: string,
  of: {
    readonly before: { readonly updatedAt: Date; readonly id: string } | null
    readonly status: WebhookDeliveryStatus | null
    readonly limit: number
  },
): Promise<readonly LoggedRow[]> {
  return await queryRows<LoggedRow>(db, {
    name: 'list-webhook-deliveries',
    text: `${logged}
      from webhook_deliveries d ${ofEvents}
      where d.endpoint_id = $1 and ($2::timestamptz is null or (d.created_at, d.id) < ($2::timestamptz, $3::uuid))
        and ($4::text is null or d.status = $4)
      order by d.created_at desc, d.id desc limit $5`,
    values: [endpointId, of.before?.updatedAt ?? null, of.before?.id ?? null, of.status, of.limit],
  })
}

/** Finds a delivery of an endpoint. */
export async function findDelivery(db: Queryable, endpointId: string, id: string): Promise<LoggedRow | null> {
  return await queryRow<LoggedRow>(db, {
    name: 'find-webhook-delivery',
    text: `${logged} from webhook_deliveries d ${ofEvents} where d.id = $2 and d.endpoint_id = $1`,
    values: [endpointId, id],
  })
}

/** Assignments that give a delivery six new attempts, the first one due at `at`. */
const again = (at: string) => `
  status = 'pending', tries = 0, lapses = 0, due_at = ${at}, ended_at = null,
  attempts = jsonb_path_query_array(d.attempts, '$[last - ${KEPT_ATTEMPTS - 1} to last]')`

/** Gives a delivery six new attempts, unless a process is attempting it. */
export async function redeliver(db: Queryable, endpointId: string, id: string, now: Date): Promise<void> {
  await db.query({
    name: 'redeliver-webhook',
    text: `
      update webhook_deliveries d set ${again('$3')}
      where d.id = $2 and d.endpoint_id = $1 and (d.claimed_until is null or d.claimed_until < $3)`,
    values: [endpointId, id, now],
  })
}

/** Returns the types of Events of some families. */
export const typesOf = (families: readonly string[]): string[] =>
  Object.entries(eventCatalog).flatMap(([type, { family }]) =>
    family !== null && families.includes(family) ? [type] : [],
  )

/** An endpoint, with the installation whose Sessions it is told of. */
interface Receiving {
  readonly id: string
  readonly installationId: string
  readonly organizationId: string
}

/**
 * Returns true if a Session is the installation's. It is locked until the end of the transaction: its Events stay rows, or
 * sealed, as they are.
 */
export async function lockReplayed(
  tx: Queryable,
  { installationId, organizationId }: Receiving,
  sessionId: string,
): Promise<boolean> {
  return await queryChanged(tx, {
    text: `
      select 1 from sessions
      where organization_id = $1 and id = $2 and owner_kind = 'app_installation' and owner_id = $3
        and not is_trial
      for share`,
    values: [organizationId, sessionId, installationId],
  })
}

/**
 * Queues a locked Session's Events after a sequence for an endpoint, those again that it has got already. First come the
 * sealed ones, with their text. The events' key is in order, so the limit bounds what is queued.
 * @returns the sequences
 */
export async function replay(
  tx: Queryable,
  { id, organizationId }: Receiving,
  query: {
    readonly sessionId: string
    readonly after: number
    readonly types: readonly string[]
    readonly sealed: readonly { readonly sequence: number; readonly envelope: string }[]
  },
  now: Date,
): Promise<readonly number[]> {
  const { rows } = await tx.query<{ sequence: number }>({
    text: `
      insert into webhook_deliveries as d (endpoint_id, organization_id, session_id, sequence, body, due_at, created_at)
      select $1, $2, $3, v.sequence, v.body, $6, $6 from (
        select sequence, body from unnest($7::bigint[], $8::text[]) as sealed (sequence, body)
        union all (
          select sequence, null from events
          where organization_id = $2 and session_id = $3 and sequence > $4 and type = any($5)
          order by sequence limit ${webhookLimits.replayed})
      ) v
      order by v.sequence limit ${webhookLimits.replayed}
      on conflict (endpoint_id, session_id, sequence) do update set ${again('excluded.due_at')}
        where d.claimed_until is null or d.claimed_until < excluded.due_at
      returning d.sequence`,
    values: [
      id,
      organizationId,
      query.sessionId,
      query.after,
      query.types,
      now,
      query.sealed.map(({ sequence }) => sequence),
      query.sealed.map(({ envelope }) => envelope),
    ],
  })
  return rows.map(({ sequence }) => sequence).toSorted((a, b) => a - b)
}

/** Queues a body that is no Event. */
export async function queueBody(
  db: Queryable,
  to: { readonly endpointId: string; readonly organizationId: string; readonly deliveryId: string },
  body: string,
  now: Date,
): Promise<void> {
  await db.query({
    text: `
      insert into webhook_deliveries (id, endpoint_id, organization_id, body, due_at, created_at)
      values ($1, $2, $3, $4, $5, $5)`,
    values: [to.deliveryId, to.endpointId, to.organizationId, body, now],
  })
}

/** Returns a row as the contract has it. */
export function toDelivery(row: LoggedRow): WebhookDelivery {
  return {
    id: row.id,
    eventId: row.event_id,
    type: row.type,
    ...(row.session_id !== null && { sessionId: row.session_id }),
    ...(row.sequence !== null && { sequence: row.sequence }),
    status: row.status,
    attempts: row.attempts.map(({ at, durationMs, status, error }) => ({
      at,
      durationMs,
      ...(status !== undefined && { status }),
      ...(error !== undefined && { error }),
    })),
    ...(row.status === 'pending' && { nextAttemptAt: row.next_at.toISOString() }),
  }
}
