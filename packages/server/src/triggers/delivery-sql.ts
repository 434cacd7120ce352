import type { Queryable } from '../storage/postgres/database.ts'
import type { TriggerKey, TriggerRow } from './trigger-sql.ts'

export interface DeliveryRow {
  readonly organization_id: string
  readonly trigger_id: string
  readonly key: string
  readonly message: string
  readonly status: 'waiting' | 'admitted' | 'refused'
  readonly error_code: string | null
  readonly tries: number
  readonly created_at: Date
}

/** A delivery that is to make its Session now, with the trigger as it is. */
export interface DueDelivery extends DeliveryRow {
  readonly installation_id: string
  readonly session: TriggerRow['session']
}

/** Stores a delivery, unless there is one of the same key. */
export async function insertDelivery(
  db: Queryable,
  { organizationId, triggerId }: TriggerKey,
  { key, message }: { readonly key: string; readonly message: string },
  now: Date,
): Promise<void> {
  await db.query({
    name: 'insert-trigger-delivery',
    text: `
      insert into trigger_deliveries (organization_id, trigger_id, key, message, status, created_at, due_at)
      values ($1, $2, $3, $4, 'waiting', $5, $5) on conflict do nothing`,
    values: [organizationId, triggerId, key, message, now],
  })
}

export async function findDelivery(
  db: Queryable,
  { organizationId, triggerId }: TriggerKey,
  key: string,
): Promise<DeliveryRow | null> {
  const { rows } = await db.query<DeliveryRow>({
    text: 'select * from trigger_deliveries where organization_id = $1 and trigger_id = $2 and key = $3',
    values: [organizationId, triggerId, key],
  })
  return rows[0] ?? null
}

export async function listDeliveries(
  db: Queryable,
  { organizationId, triggerId }: TriggerKey,
  limit: number,
): Promise<readonly DeliveryRow[]> {
  const { rows } = await db.query<DeliveryRow>({
    text: `
      select * from trigger_deliveries where organization_id = $1 and trigger_id = $2
      order by created_at desc, key limit $3`,
    values: [organizationId, triggerId, limit],
  })
  return rows
}

/**
 * Takes deliveries that are due. Nobody else takes them before `until`, by which time whoever took them has died or said
 * how they ended.
 */
export async function takeDueDeliveries(
  db: Queryable,
  now: Date,
  until: Date,
  limit: number,
): Promise<readonly DueDelivery[]> {
  const { rows } = await db.query<DueDelivery>({
    name: 'take-due-trigger-deliveries',
    text: `
      update trigger_deliveries d set due_at = $2, tries = d.tries + 1
      from triggers t
      where t.organization_id = d.organization_id and t.id = d.trigger_id
        and d.status = 'waiting' and d.ctid = any (array(
          select ctid from trigger_deliveries where status = 'waiting' and due_at <= $1
          order by due_at limit $3 for update skip locked))
      returning d.*, t.installation_id, t.session`,
    values: [now, until, limit],
  })
  return rows
}

/** Says how a delivery has ended. One that has ended already stays as it is. */
export async function endDelivery(
  db: Queryable,
  { organization_id, trigger_id, key }: DeliveryRow,
  end: { readonly status: 'admitted' | 'refused'; readonly errorCode: string | null },
): Promise<void> {
  await db.query({
    text: `
      update trigger_deliveries set status = $4, error_code = $5
      where organization_id = $1 and trigger_id = $2 and key = $3 and status = 'waiting'`,
    values: [organization_id, trigger_id, key, end.status, end.errorCode],
  })
}

/** Says when a delivery is tried again, and why it was not admitted. */
export async function delayDelivery(
  db: Queryable,
  { organization_id, trigger_id, key }: DeliveryRow,
  dueAt: Date,
  errorCode: string,
): Promise<void> {
  await db.query({
    text: `
      update trigger_deliveries set due_at = $4, error_code = $5
      where organization_id = $1 and trigger_id = $2 and key = $3 and status = 'waiting'`,
    values: [organization_id, trigger_id, key, dueAt, errorCode],
  })
}

/** Deletes deliveries that have ended and were taken before a time, at most so many. */
export async function forgetDeliveries(db: Queryable, before: Date, limit: number): Promise<number> {
  const { rowCount } = await db.query({
    text: `
      delete from trigger_deliveries where ctid = any (array(
        select ctid from trigger_deliveries where status <> 'waiting' and created_at < $1 limit $2))`,
    values: [before, limit],
  })
  return rowCount
}
