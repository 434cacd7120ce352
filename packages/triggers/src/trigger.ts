import type { Trigger, TriggerDelivery, TriggerHook } from '@berth/contract'
import { type DeliveryRow, type ReportedDelivery, sessionOf } from './delivery-sql.ts'
import { derivedId } from './derived-id.ts'
import { usualKeys } from './hook-scheme.ts'
import type { TriggerRow } from './trigger-sql.ts'

/** Returns a trigger as callers see it. */
export function toTrigger(row: TriggerRow, baseUrl: string): Trigger {
  const { id, name, message, session, cron, time_zone: timeZone, thread, enabled, due_at: nextAt } = row
  return {
    id,
    installationId: row.installation_id,
    name,
    message,
    session,
    enabled,
    ...(row.deliver !== null && { deliver: row.deliver }),
    ...(cron !== null && timeZone !== null && { schedule: { cron, timeZone } }),
    ...(thread !== null && { thread: [...thread] }),
    ...(row.hook !== null && { hook: toHook(row, row.hook, baseUrl) }),
    ...(nextAt !== null && { nextAt: nextAt.toISOString() }),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}

/** Returns the address of a trigger's hook. */
export const hookUrlOf = ({ hook_id }: Pick<TriggerRow, 'hook_id'>, baseUrl: string): string =>
  `${baseUrl}/hooks/${hook_id}`

function toHook(row: TriggerRow, { scheme, key = usualKeys[scheme], where, github }: TriggerHook, baseUrl: string) {
  return {
    url: hookUrlOf(row, baseUrl),
    scheme,
    key,
    ...(where !== undefined && { where }),
    ...(github !== undefined && { github }),
    hasSecret: row.secret !== null,
    ...(row.previous_until !== null && { previousSecretUntil: row.previous_until.toISOString() }),
  }
}

/** Returns a delivery as callers see it. */
export function toDelivery(row: DeliveryRow): TriggerDelivery {
  const { trigger_id, key, status, thread, error_code, created_at } = row
  return {
    key,
    status,
    sessionId: sessionOf(row),
    turnId: derivedId('turn', trigger_id, key),
    ...(thread !== null && { thread }),
    ...(error_code !== null && { errorCode: error_code }),
    ...(row.deliver_state !== null && {
      publication: {
        state: row.deliver_state,
        ...(row.publication_id !== null && { id: row.publication_id }),
        ...(row.verification_id !== null && { verificationId: row.verification_id }),
        ...(row.deliver_error !== null && { errorCode: row.deliver_error }),
      },
    }),
    createdAt: created_at.toISOString(),
  }
}

/** Returns a delivery as callers see it, with the report of its Turn and what it has published. */
export function toReportedDelivery(row: ReportedDelivery): TriggerDelivery {
  const { result } = row
  const shown = toDelivery(row)
  const published = result !== null && {
    branch: result.branch,
    ...(result.pullRequest !== undefined && {
      pullRequest: { number: result.pullRequest.number, url: result.pullRequest.url },
    }),
  }
  const delivery = {
    ...shown,
    ...(shown.publication !== undefined && { publication: { ...shown.publication, ...published } }),
  }
  if (row.report === null) return delivery
  const { reported, comment_url: url, comment_error: comment, check_error: check } = row.report
  return {
    ...delivery,
    report: {
      told: reported,
      ...(url !== null && { commentUrl: url }),
      ...(comment !== null && { commentErrorCode: comment }),
      ...(check !== null && { checkErrorCode: check }),
    },
  }
}
