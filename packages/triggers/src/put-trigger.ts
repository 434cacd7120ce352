import { type PutTrigger, triggerLimits } from '@berth/contract'
import type { Context } from '@berth/core/context.ts'
import { environmentToBind } from '@berth/core/environments/bind.ts'
import type { Principal } from '@berth/core/identity/guard/principal.ts'
import { settleEffort, settleModel, settleRuntime } from '@berth/core/sessions/configuration.ts'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { judgeDeliver } from './deliver/judge-deliver.ts'
import { judgeHook } from './judge-hook.ts'
import { judgeSchedule } from './occurrences.ts'
import { countTriggers, findTrigger, type OwnedTriggerKey, type TriggerRow, upsertTrigger } from './trigger-sql.ts'

/**
 * Creates a trigger, or replaces it. The names in its settings are judged now, so that its author hears of a mistake, and again
 * with each Session. The Git host is asked only then.
 * @param also a write of the same transaction
 * @throws ApiError 400 `invalid_request` for a schedule that is none, or an unknown runtime or model
 * @throws ApiError 403 `insufficient_scope` if it delivers, and the installation may not publish
 * @throws ApiError 403, 404 or 409 as `createSession` for the environment
 * @throws ApiError 404 `trigger_not_found` if the id is another installation's
 * @throws ApiError 409 `trigger_limit_reached`
 */
export async function putTrigger(
  context: Context,
  principal: Principal,
  key: OwnedTriggerKey,
  { name, message, session = {}, schedule, thread, hook, deliver, enabled = true }: PutTrigger,
  also: (tx: Queryable) => Promise<void> = async () => {},
): Promise<{ readonly row: TriggerRow; readonly created: boolean }> {
  const { db, clock } = context
  const now = clock.now()
  if (hook !== undefined) judgeHook(hook, { ...(thread !== undefined && { thread }), session })
  if (deliver !== undefined) judgeDeliver(context, principal, deliver, { hook, session })
  const judged = schedule === undefined ? null : judgeSchedule(schedule, now)
  const draft = {
    name,
    message,
    session,
    enabled,
    cron: judged?.cron ?? null,
    timeZone: judged?.timeZone ?? null,
    thread: thread ?? null,
    hook: hook ?? null,
    deliver: deliver ?? null,
    nextAt: enabled ? (judged?.nextAt ?? null) : null,
  }
  await inField('session', async () => {
    const runtime = await settleRuntime(context, db, key.organizationId, session.runtime)
    settleEffort(context, session.effort, settleModel(context, session.model, runtime))
  })
  await environmentToBind(db, principal, session.environment)
  return db.transaction(async tx => {
    const isFull = (await countTriggers(tx, key)) >= triggerLimits.triggers
    if (isFull && (await findTrigger(tx, key)) === null) throw refusal('trigger_limit_reached')
    const written = await upsertTrigger(tx, key, draft, now)
    if (written === null) throw refusal('trigger_not_found')
    await also(tx)
    return written
  })
}

/** Names faults by their place in the body. */
async function inField(name: string, judge: () => Promise<void>): Promise<void> {
  try {
    await judge()
  } catch (error) {
    const issues = error instanceof ApiError ? error.fields['issues'] : undefined
    if (!Array.isArray(issues)) throw error
    throw refusal('invalid_request', { issues: issues.map(issue => ({ ...issue, path: [name, ...issue.path] })) })
  }
}
