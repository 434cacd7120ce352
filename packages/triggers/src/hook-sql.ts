import { type Queryable, queryRow } from '@berth/platform/storage/postgres/database.ts'
import type { OwnedTriggerKey, TriggerRow } from './trigger-sql.ts'

/** Returns the trigger with a hook at an address; null if there is none. */
export async function findHook(db: Queryable, hookId: string): Promise<TriggerRow | null> {
  return await queryRow<TriggerRow>(db, {
    name: 'find-trigger-hook',
    text: 'select * from triggers where hook_id = $1 and hook is not null and secret is not null',
    values: [hookId],
  })
}

/**
 * Replaces the secret of a trigger. The one before, if there is one, stays until a time.
 * @param seal seals the secret for the hook of this id
 * @returns null if the installation has no such trigger
 */
export async function replaceSecret(
  tx: Queryable,
  key: OwnedTriggerKey,
  seal: (hookId: string) => Buffer,
  until: Date,
  now: Date,
): Promise<TriggerRow | null> {
  const owned = [key.organizationId, key.triggerId, key.installationId]
  const found = await queryRow<Pick<TriggerRow, 'hook_id'>>(tx, {
    text: `
      select hook_id from triggers where organization_id = $1 and id = $2 and installation_id = $3
      for no key update`,
    values: owned,
  })
  if (found === null) return null
  const replaced = await tx.query<TriggerRow>({
    text: `
      update triggers set secret = $4, previous_secret = secret,
        previous_until = case when secret is not null then $5::timestamptz end, updated_at = $6
      where organization_id = $1 and id = $2 and installation_id = $3 returning *`,
    values: [...owned, seal(found.hook_id), until, now],
  })
  return replaced.rows[0] ?? null
}
