import type { Trigger, TriggerDelivery } from '@berth/contract'
import type { DeliveryRow } from './delivery-sql.ts'
import { derivedId } from './derived-id.ts'
import type { TriggerRow } from './trigger-sql.ts'

/** Returns a trigger as callers see it. */
export function toTrigger(row: TriggerRow): Trigger {
  const { id, name, message, session, cron, time_zone: timeZone, enabled, next_at: nextAt } = row
  return {
    id,
    name,
    message,
    session,
    enabled,
    ...(cron !== null && timeZone !== null && { schedule: { cron, timeZone } }),
    ...(nextAt !== null && { nextAt: nextAt.toISOString() }),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}

/** Returns a delivery as callers see it. */
export function toDelivery({ trigger_id, key, status, error_code, created_at }: DeliveryRow): TriggerDelivery {
  return {
    key,
    status,
    sessionId: derivedId('session', trigger_id, key),
    ...(error_code !== null && { errorCode: error_code }),
    createdAt: created_at.toISOString(),
  }
}
