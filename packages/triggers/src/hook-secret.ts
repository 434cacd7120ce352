import type { ReplaceTriggerSecret } from '@berth/contract'
import { makeSecret } from '@berth/core/webhooks/endpoint-secret.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { masterKeyOf } from '@berth/platform/storage/master-key.ts'
import type { Database, Queryable } from '@berth/platform/storage/postgres/database.ts'
import { replaceSecret } from './hook-sql.ts'
import type { OwnedTriggerKey, TriggerRow } from './trigger-sql.ts'

const DAY_SECONDS = 24 * 3600

const placeOf = (hookId: string): string => `trigger-hook/${hookId}`

/** Returns the secrets by which a trigger's hook is signed now: the one, and the one before while it is good. */
export function openSecrets(
  db: Queryable,
  { hook_id: id, secret, previous_secret: previous, previous_until: until }: TriggerRow,
  now: Date,
): readonly string[] {
  const sealed = [secret, until !== null && until > now ? previous : null].filter(one => one !== null)
  return sealed.map(one => masterKeyOf(db).open(one, placeOf(id)).toString())
}

/**
 * Gives a trigger another secret, the caller's or a new one. The one before stays good for a while.
 * @param also a write of the same transaction
 * @returns the secret, which is stored only sealed, and the trigger
 * @throws ApiError 404 `trigger_not_found`
 */
export async function replaceTriggerSecret(
  db: Database,
  key: OwnedTriggerKey,
  { secret = makeSecret(), overlapSeconds = DAY_SECONDS }: ReplaceTriggerSecret,
  now: Date,
  also: (tx: Queryable) => Promise<void> = async () => {},
): Promise<{ readonly secret: string; readonly row: TriggerRow }> {
  const until = new Date(now.getTime() + overlapSeconds * 1000)
  const seal = (hookId: string) => masterKeyOf(db).seal(secret, placeOf(hookId))
  const row = await db.transaction(async tx => {
    const replaced = await replaceSecret(tx, key, seal, until, now)
    if (replaced === null) throw refusal('trigger_not_found')
    await also(tx)
    return replaced
  })
  return { secret, row }
}
