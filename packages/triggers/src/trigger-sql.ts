import type { PutTrigger, TriggerDeliver, TriggerHook } from '@berth/contract'
import { isAddressable } from '@berth/core/accounts/installations/own-installation.ts'
import { type Queryable, queryChanged, queryRow, queryRows } from '@berth/platform/storage/postgres/database.ts'

export interface TriggerKey {
  readonly organizationId: string
  readonly triggerId: string
}

/** A trigger of one installation. */
export interface OwnedTriggerKey extends TriggerKey {
  readonly installationId: string
}

export interface TriggerRow {
  readonly organization_id: string
  readonly id: string
  readonly installation_id: string
  readonly name: string
  readonly message: string
  readonly session: NonNullable<PutTrigger['session']>
  readonly cron: string | null
  readonly time_zone: string | null
  readonly thread: readonly string[] | null
  readonly hook: TriggerHook | null
  readonly hook_id: string
  readonly deliver: TriggerDeliver | null
  readonly secret: Buffer | null
  readonly previous_secret: Buffer | null
  readonly previous_until: Date | null
  readonly enabled: boolean
  readonly due_at: Date | null
  readonly created_at: Date
  readonly updated_at: Date
}

/** A trigger as a caller has written it, judged. */
export interface TriggerDraft {
  readonly name: string
  readonly message: string
  readonly session: object
  readonly cron: string | null
  readonly timeZone: string | null
  readonly thread: readonly string[] | null
  readonly hook: TriggerHook | null
  readonly deliver: TriggerDeliver | null
  readonly enabled: boolean
  readonly nextAt: Date | null
}

export async function findTrigger(db: Queryable, key: OwnedTriggerKey): Promise<TriggerRow | null> {
  return await queryRow<TriggerRow>(db, {
    name: 'find-trigger',
    text: 'select * from triggers where organization_id = $1 and id = $2 and installation_id = $3',
    values: [key.organizationId, key.triggerId, key.installationId],
  })
}

export async function listTriggers(
  db: Queryable,
  { organizationId, installationId }: Omit<OwnedTriggerKey, 'triggerId'>,
): Promise<readonly TriggerRow[]> {
  return await queryRows<TriggerRow>(db, {
    name: 'list-triggers',
    text: 'select * from triggers where organization_id = $1 and installation_id = $2 order by name, id',
    values: [organizationId, installationId],
  })
}

/**
 * Lists the triggers of all installations of an organization that are not revoked.
 * @param triggerId the only one of them to return
 */
export async function listOrganizationTriggers(
  db: Queryable,
  organizationId: string,
  triggerId: string | null = null,
): Promise<readonly TriggerRow[]> {
  return await queryRows<TriggerRow>(db, {
    name: 'list-organization-triggers',
    text: `
      select t.* from triggers t join installations i on i.id = t.installation_id
      where t.organization_id = $1 and ($2::uuid is null or t.id = $2) and i.revoked_at is null and ${isAddressable('i')}
      order by t.name, t.id`,
    values: [organizationId, triggerId],
  })
}

/** Locks an installation's triggers against others that add some, and counts them. */
export async function countTriggers(
  tx: Queryable,
  { organizationId, installationId }: Omit<OwnedTriggerKey, 'triggerId'>,
): Promise<number> {
  await tx.query({
    text: "select pg_advisory_xact_lock(hashtextextended('triggers/' || $1, 0))",
    values: [installationId],
  })
  const { rows } = await tx.query<{ count: string }>({
    text: 'select count(*) as count from triggers where organization_id = $1 and installation_id = $2',
    values: [organizationId, installationId],
  })
  return Number(rows[0]?.count)
}

/**
 * Writes a trigger. One whose schedule is the same as before keeps a next time that has come, unless it was off. A later
 * time than the schedule's next one is a clock's that was ahead.
 * @returns null if the id is another installation's
 */
export async function upsertTrigger(
  tx: Queryable,
  key: OwnedTriggerKey,
  draft: TriggerDraft,
  now: Date,
): Promise<{ readonly row: TriggerRow; readonly created: boolean } | null> {
  const { rows } = await tx.query<TriggerRow & { created: boolean }>({
    name: 'upsert-trigger',
    text: `
      insert into triggers (organization_id, id, installation_id, name, message, session, cron, time_zone, enabled,
        due_at, created_at, updated_at, thread, hook, deliver)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12, $13, $14)
      on conflict (organization_id, id) do update set
        name = excluded.name, message = excluded.message, session = excluded.session, cron = excluded.cron,
        time_zone = excluded.time_zone, enabled = excluded.enabled, updated_at = excluded.updated_at,
        thread = excluded.thread, hook = excluded.hook, deliver = excluded.deliver,
        due_at = case
          when excluded.enabled and (excluded.cron, excluded.time_zone) = (triggers.cron, triggers.time_zone)
            then least(triggers.due_at, excluded.due_at)
          else excluded.due_at end
      where triggers.installation_id = excluded.installation_id
      returning *, xmax = 0 as created`,
    values: [
      key.organizationId,
      key.triggerId,
      key.installationId,
      draft.name,
      draft.message,
      JSON.stringify(draft.session),
      draft.cron,
      draft.timeZone,
      draft.enabled,
      draft.nextAt,
      now,
      draft.thread,
      draft.hook === null ? null : JSON.stringify(draft.hook),
      draft.deliver === null ? null : JSON.stringify(draft.deliver),
    ],
  })
  const [row] = rows
  return row === undefined ? null : { row, created: row.created }
}

export async function deleteTrigger(db: Queryable, key: OwnedTriggerKey): Promise<boolean> {
  return await queryChanged(db, {
    text: 'delete from triggers where organization_id = $1 and id = $2 and installation_id = $3',
    values: [key.organizationId, key.triggerId, key.installationId],
  })
}

/** A trigger whose time has come. */
export interface DueTrigger extends TriggerRow {
  /** Nobody can use or delete the triggers of a revoked installation, or of the service's own. */
  readonly is_revoked: boolean
}

/** Takes triggers whose time has come, until the transaction ends; others skip them. */
export async function takeDueTriggers(tx: Queryable, now: Date, limit: number): Promise<readonly DueTrigger[]> {
  return await queryRows<DueTrigger>(tx, {
    name: 'take-due-triggers',
    text: `
      select t.*, i.revoked_at is not null or not ${isAddressable('i')} as is_revoked
      from triggers t join installations i on i.id = t.installation_id
      where t.due_at <= $1 order by t.due_at limit $2 for update of t skip locked`,
    values: [now, limit],
  })
}

/** Says when a taken trigger fires next. */
export async function setNextOccurrence(
  tx: Queryable,
  { organization_id, id }: TriggerRow,
  nextAt: Date | null,
): Promise<void> {
  await tx.query({
    name: 'set-next-occurrence',
    text: 'update triggers set due_at = $3 where organization_id = $1 and id = $2',
    values: [organization_id, id, nextAt],
  })
}
