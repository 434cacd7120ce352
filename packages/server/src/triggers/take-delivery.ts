import { limits, type PutTriggerDelivery } from '@berth/contract'
import type { Context } from '../context.ts'
import { invalidField, refusal } from '../kit/refusal.ts'
import { topics } from '../storage/postgres/wakeups.ts'
import { type DeliveryRow, findDelivery, insertDelivery } from './delivery-sql.ts'
import { fillTemplate } from './message-template.ts'
import { findTrigger, type OwnedTriggerKey } from './trigger-sql.ts'

/**
 * Takes a delivery, unless it was taken before.
 * @throws ApiError 400 `invalid_request` if the payload makes an empty or too long message
 * @throws ApiError 404 `trigger_not_found`
 * @throws ApiError 409 `trigger_disabled`
 */
export async function takeDelivery(
  { db, clock, wakeups }: Pick<Context, 'db' | 'clock' | 'wakeups'>,
  owned: OwnedTriggerKey,
  key: string,
  { payload }: PutTriggerDelivery,
): Promise<DeliveryRow> {
  const trigger = await findTrigger(db, owned)
  if (trigger === null) throw refusal('trigger_not_found')
  const known = await findDelivery(db, owned, key)
  if (known !== null) return known
  if (!trigger.enabled) throw refusal('trigger_disabled')
  const message = fillTemplate(trigger.message, payload, limits.messageCharacters)
  if (message === null) {
    throw invalidField(['payload'], `makes a message of more than ${limits.messageCharacters} characters`)
  }
  if (message.trim() === '') throw invalidField(['payload'], 'makes an empty message')
  await insertDelivery(db, owned, { key, message }, clock.now())
  const taken = await findDelivery(db, owned, key)
  // The trigger was deleted meanwhile.
  if (taken === null) throw refusal('trigger_not_found')
  wakeups.publish(topics.triggers)
  return taken
}
