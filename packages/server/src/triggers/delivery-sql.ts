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

/**
 * Stores a delivery, unless there is one of the same key, or the trigger is gone. The lock lets no deletion come between
 * the two.
 */
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
      select organization_id, id, $3, $4, 'waiting', $5, $5 from triggers
      where organization_id = $1 and id = $2 for key share
      on conflict do nothing`,
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

/** Which deliveries a process can take. */
export interface Taking {
  readonly now: Date
  /** Nobody else takes them before, by which time whoever took them has died or said how they ended. */
  readonly until: Date
  readonly limit: number
  /** At most so many of one organization. */
  readonly ofOrganization: number
  /** Organizations of which none is taken. */
  readonly except: readonly string[]
}

/**
 * Takes deliveries that are due, the oldest of each organization first: one with thousands delays no other's. The
 * statement steps from one organization to the next on an index, and reads a few rows of each.
 */
export async function takeDueDeliveries(
  db: Queryable,
  { now, until, limit, ofOrganization, except }: Taking,
): Promise<readonly DueDelivery[]> {
  const { rows } = await db.query<DueDelivery>({
    name: 'take-due-trigger-deliveries',
    text: `
      with recursive waiting as (
        (select organization_id from trigger_deliveries where status = 'waiting' order by organization_id limit 1)
        union all
        select (
          select d.organization_id from trigger_deliveries d
          where d.status = 'waiting' and d.organization_id > w.organization_id order by d.organization_id limit 1)
        from waiting w where w.organization_id is not null
      ), next as (
        select of.organization_id, of.trigger_id, of.key
        from waiting w cross join lateral (
          select d.organization_id, d.trigger_id, d.key, d.due_at, row_number() over (order by d.due_at) as place
          from (
            select d.organization_id, d.trigger_id, d.key, d.due_at from trigger_deliveries d
            where d.organization_id = w.organization_id and d.status = 'waiting' and d.due_at <= $1
            order by d.due_at limit $4) d) of
        where w.organization_id <> all ($5::uuid[])
        order by of.place, of.due_at limit $3
      )
      update trigger_deliveries d set due_at = $2, tries = d.tries + 1
      from triggers t
      where t.organization_id = d.organization_id and t.id = d.trigger_id and d.ctid = any (array(
        select d.ctid from trigger_deliveries d join next using (organization_id, trigger_id, key)
        where d.status = 'waiting' and d.due_at <= $1 for update of d skip locked))
      returning d.*, t.installation_id, t.session`,
    values: [now, until, limit, ofOrganization, except],
  })
  return rows
}

/**
 * Says how a delivery has ended, and forgets its message, which the Session has if it was admitted: the purge of a Session
 * must leave none of it. One that has ended already stays as it is.
 */
export async function endDelivery(
  db: Queryable,
  { organization_id, trigger_id, key }: DeliveryRow,
  end: { readonly status: 'admitted' | 'refused'; readonly errorCode: string | null },
): Promise<void> {
  await db.query({
    text: `
      update trigger_deliveries set status = $4, error_code = $5, message = ''
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
