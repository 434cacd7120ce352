import type { Session, UpdateSession } from '@berth/contract'
import { ownCredentials } from '@berth/platform/kit/redactor.ts'
import { refusal, sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { setSessionBudget } from '../accounting/pausing-budgets.ts'
import type { Context } from '../context.ts'
import { environmentToBind } from '../environments/bind.ts'
import type { Principal } from '../identity/guard/principal.ts'
import { settleEffort, settleModel, settleRuntime } from './configuration.ts'
import { closeBudgetQuestion } from './interactions/budget-question.ts'
import { lockVisibleSession } from './session/read-session.ts'
import { toSession } from './session/session.ts'
import { findSession, updateSession as writeSession } from './session/session-sql.ts'

/**
 * Changes a Session for its next Turn; the last write wins and no active Run is touched, except that one which waits for more
 * budget goes on once it has it. A change to the present values leaves `updatedAt`.
 * @throws ApiError 404
 * @throws ApiError 409 `cloud_session_settled` if the runtime changes after the first Turn
 * @throws ApiError 400 if the runtime or model is unknown
 */
export async function updateSession(
  context: Context,
  principal: Principal,
  key: SessionKey,
  body: UpdateSession,
): Promise<Session> {
  const now = context.clock.now()
  const row = await context.db.transaction(async tx => {
    const session = await lockVisibleSession(tx, principal, key)
    if (session.archived_at !== null) throw sessionNotFound()
    const environmentId =
      body.environment === undefined ? session.environment_id : await environmentToBind(tx, principal, body.environment)
    const runtime = body.runtime === undefined ? session.runtime : body.runtime === 'native' ? null : body.runtime
    const switched = runtime !== session.runtime
    if (switched && session.turn_count > 0) throw refusal('cloud_session_settled')
    if (switched) await settleRuntime(context, tx, key.organizationId, runtime)
    const model = body.model !== undefined || switched ? settleModel(context, body.model, runtime) : session.model
    const effort = settleEffort(context, body.effort === undefined ? session.effort : body.effort, model)
    const title = body.title === undefined ? session.title : ownCredentials.text(body.title)
    const changes =
      title !== session.title ||
      model !== session.model ||
      effort !== session.effort ||
      runtime !== session.runtime ||
      environmentId !== session.environment_id
    const limitUsd = body.budget === undefined ? session.budget_usd : (body.budget?.costUsd ?? null)
    const rebudgeted = limitUsd !== session.budget_usd
    if (rebudgeted) {
      await setSessionBudget(tx, key, limitUsd)
      if (session.active_run_id !== null) await closeBudgetQuestion(tx, key, session.active_run_id, now)
    }
    const changed = changes || rebudgeted
    if (changed) await writeSession(tx, key, { title, model, effort, runtime, environmentId }, now)
    return { changed, rebudgeted, session: changed ? await findSession(tx, key) : session }
  })
  if (row.session === null) throw sessionNotFound()
  const { organizationId, sessionId } = key
  if (row.changed) context.wakeups.publish(topics.session(organizationId, sessionId))
  if (row.rebudgeted) context.wakeups.publish(topics.control(organizationId, sessionId), topics.queue)
  return toSession(row.session, context)
}
