import { type PublicationResult, type TriggerDeliver, type TriggerDelivery, triggerLimits } from '@berth/contract'
import { ClaimedRows } from '@berth/platform/storage/postgres/claimed-rows.ts'
import { type Queryable, queryChanged, queryRow, queryRows } from '@berth/platform/storage/postgres/database.ts'
import { deleteInBatches } from '@berth/platform/storage/postgres/delete-in-batches.ts'
import { derivedId } from './derived-id.ts'
import type { GitHubEvent } from './github/github-event.ts'
import type { ReportRow } from './reports/report-sql.ts'
import type { TriggerKey, TriggerRow } from './trigger-sql.ts'

export interface DeliveryRow {
  readonly organization_id: string
  readonly trigger_id: string
  readonly key: string
  readonly message: string
  /** Whether the message was made as a script; null if it was taken by an earlier release. */
  readonly is_script: boolean | null
  /** The conversation that it belongs to; null: a Session of its own. */
  readonly thread: string | null
  readonly session_id: string | null
  readonly event: GitHubEvent | null
  readonly status: 'waiting' | 'admitted' | 'refused'
  readonly error_code: string | null
  readonly tries: number
  /** How the changes of its Run are published; null: by people. */
  readonly deliver: TriggerDeliver | null
  /** How far they are, from its admission on. */
  readonly deliver_state: NonNullable<TriggerDelivery['publication']>['state'] | null
  readonly deliver_error: string | null
  readonly revision: string | null
  readonly verification_id: string | null
  readonly publication_id: string | null
  /** How many Publications have failed because the workspace had moved on. */
  readonly publications: number
  readonly created_at: Date
}

/** A delivery with the report of its Turn and the result of its Publication. */
export interface ReportedDelivery extends DeliveryRow {
  readonly result: PublicationResult | null
  readonly report: Pick<ReportRow, 'reported' | 'comment_url' | 'comment_error' | 'check_error'> | null
}

/** A delivery that is to make its Session now, with the trigger as it is. */
export interface DueDelivery extends DeliveryRow {
  readonly claim: string
  readonly installation_id: string
  readonly session: TriggerRow['session']
  readonly hook: TriggerRow['hook']
}

/** Returns the id of the Session of a delivery. */
export const sessionOf = ({ trigger_id, key, session_id }: DeliveryRow): string =>
  session_id ?? derivedId('session', trigger_id, key)

/** A delivery as it is taken. */
export interface NewDelivery {
  readonly key: string
  readonly message: string
  readonly isScript: boolean
  readonly thread: string | null
  /** The Session that gets its Turn; null: it follows from the key. */
  readonly sessionId: string | null
  /** No other delivery of the trigger may have the same; null: others may. */
  readonly signature: Buffer | null
  readonly event: GitHubEvent | null
  readonly deliver: TriggerDeliver | null
}

/**
 * Stores a delivery, unless there is one of the same key or signature, the trigger is gone, or its installation has as
 * many that wait as it may. The lock lets no deletion come between. Deliveries that come at one moment do not see one
 * another, so they may exceed the bound by their number.
 * @returns whether it was stored
 */
export async function insertDelivery(
  db: Queryable,
  { organizationId, triggerId }: TriggerKey,
  { key, message, isScript, thread, sessionId, signature, event, deliver }: NewDelivery,
  now: Date,
): Promise<boolean> {
  return await queryChanged(db, {
    name: 'insert-trigger-delivery',
    text: `
      insert into trigger_deliveries
        (organization_id, trigger_id, key, message, thread, session_id, signature, status, created_at, due_at, event,
          is_script, deliver)
      select t.organization_id, t.id, $3, $4, $5, $6, $7, 'waiting', $8, $8, $9, $10, $11 from triggers t
      where t.organization_id = $1 and t.id = $2 and (
        select count(*) from (
          select from trigger_deliveries d join triggers o on o.organization_id = d.organization_id and o.id = d.trigger_id
          where d.organization_id = $1 and d.status = 'waiting' and o.installation_id = t.installation_id
          limit ${triggerLimits.waitingDeliveries}) waiting) < ${triggerLimits.waitingDeliveries}
      for key share of t
      on conflict do nothing`,
    values: [
      organizationId,
      triggerId,
      key,
      message,
      thread,
      sessionId,
      signature,
      now,
      event === null ? null : JSON.stringify(event),
      isScript,
      deliver === null ? null : JSON.stringify(deliver),
    ],
  })
}

/** Returns the delivery that was taken with a signature. */
export async function findSigned(
  db: Queryable,
  { organizationId, triggerId }: TriggerKey,
  signature: Buffer,
): Promise<DeliveryRow | null> {
  return await queryRow<DeliveryRow>(db, {
    text: 'select * from trigger_deliveries where organization_id = $1 and trigger_id = $2 and signature = $3',
    values: [organizationId, triggerId, signature],
  })
}

export async function findDelivery(
  db: Queryable,
  { organizationId, triggerId }: TriggerKey,
  key: string,
): Promise<DeliveryRow | null> {
  return await queryRow<DeliveryRow>(db, {
    text: 'select * from trigger_deliveries where organization_id = $1 and trigger_id = $2 and key = $3',
    values: [organizationId, triggerId, key],
  })
}

export async function listDeliveries(
  db: Queryable,
  { organizationId, triggerId }: TriggerKey,
  limit: number,
): Promise<readonly ReportedDelivery[]> {
  return await queryRows<ReportedDelivery>(db, {
    text: `
      select d.*, case when r.key is not null then to_jsonb(r) end as report, p.result
      from trigger_deliveries d left join trigger_reports r using (organization_id, trigger_id, key)
      left join publications p
        on p.organization_id = d.organization_id and p.session_id = d.session_id and p.id = d.publication_id
      where d.organization_id = $1 and d.trigger_id = $2
      order by d.created_at desc, key limit $3`,
    values: [organizationId, triggerId, limit],
  })
}

/**
 * The deliveries that processes share, the oldest of each organization first: one with thousands delays no other's. One of
 * a conversation waits for those before it, while its Session has an active Run, and while the changes of one are published. The statement steps from one
 * organization to the next on an index, and reads a few rows of each. `$4` is the most of one organization, and `$5` are
 * organizations of which none is taken.
 */
export const claimedDeliveries = new ClaimedRows<DeliveryRow & { readonly due_at: Date }>({
  table: 'trigger_deliveries',
  key: ['organization_id', 'trigger_id', 'key'],
  due: "r.status = 'waiting' and r.due_at <= $1",
  also: 'tries = r.tries + 1',
  join: {
    clause: `
      join (
        with recursive waiting as (
          (select organization_id from trigger_deliveries where status = 'waiting' order by organization_id limit 1)
          union all
          select (
            select d.organization_id from trigger_deliveries d
            where d.status = 'waiting' and d.organization_id > w.organization_id order by d.organization_id limit 1)
          from waiting w where w.organization_id is not null
        )
        select of.organization_id, of.trigger_id, of.key
        from waiting w cross join lateral (
          select d.organization_id, d.trigger_id, d.key, d.due_at, row_number() over (order by d.due_at) as place
          from (
            select d.organization_id, d.trigger_id, d.key, d.due_at from trigger_deliveries d
            where d.organization_id = w.organization_id and d.status = 'waiting' and d.due_at <= $1
              and (d.claimed_until is null or d.claimed_until < $1)
              and (d.thread is null or not exists (
                select from trigger_deliveries e
                where e.organization_id = d.organization_id and e.trigger_id = d.trigger_id and e.thread = d.thread
                  and e.status = 'waiting' and (e.created_at, e.key) < (d.created_at, d.key)))
              and (d.session_id is null or not exists (
                select from runs r
                where r.organization_id = d.organization_id and r.session_id = d.session_id and r.ended_at is null))
              and (d.session_id is null or not exists (
                select from trigger_deliveries p
                where p.organization_id = d.organization_id and p.session_id = d.session_id
                  and p.deliver_state in ('waiting', 'verifying', 'publishing')))
            order by d.due_at limit $4) d) of
        where w.organization_id <> all ($5::uuid[])
        order by of.place, of.due_at limit $3
      ) due using (organization_id, trigger_id, key)
      join triggers t on t.organization_id = r.organization_id and t.id = r.trigger_id`,
    columns: { installation_id: 't.installation_id', session: 't.session', hook: 't.hook' },
  },
})

/**
 * Says how a claimed delivery has ended, and forgets its message, which the Session has if it was admitted: the purge of a
 * Session must leave none of it. From its admission on, its changes wait to be published if the trigger delivers them.
 */
export function endDelivery(
  db: Queryable,
  due: DueDelivery,
  status: 'admitted' | 'refused',
  errorCode: string | null,
): Promise<unknown> {
  const delivers = status === 'admitted' && due.deliver !== null
  const waits = delivers ? ({ deliver_state: 'waiting', session_id: sessionOf(due), tries: 0 } as const) : {}
  return claimedDeliveries.release(db, due.claim, { status, error_code: errorCode, message: '', ...waits })
}

/** Remembers the commit that the event of a delivery is about, before its Turn is made. */
export async function setHead(
  db: Queryable,
  { organization_id, trigger_id, key }: DeliveryRow,
  headOid: string,
): Promise<void> {
  await db.query({
    text: 'update trigger_deliveries set head_oid = $4 where organization_id = $1 and trigger_id = $2 and key = $3',
    values: [organization_id, trigger_id, key, headOid],
  })
}

/** Deletes deliveries that have ended and were taken before a time. */
export const forgetDeliveries = (db: Queryable, before: Date, signal: AbortSignal): Promise<number> =>
  deleteInBatches(
    db,
    { table: 'trigger_deliveries', where: "r.status <> 'waiting' and r.created_at < $1", values: [before] },
    signal,
  )
