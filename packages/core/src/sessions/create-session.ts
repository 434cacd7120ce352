import type { CreateSession, Session } from '@berth/contract'
import { ownCredentials } from '@berth/platform/kit/redactor.ts'
import { refusal, sessionNotFound } from '@berth/platform/kit/refusal.ts'
import { requestHash } from '@berth/platform/kit/request-hash.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { addSessionBudget } from '../accounting/pausing-budgets.ts'
import type { Context } from '../context.ts'
import { environmentToBind } from '../environments/bind.ts'
import type { Principal } from '../identity/guard/principal.ts'
import { requireCompute } from '../runtimes/own-hosts.ts'
import { settleEffort, settleModel, settleRuntime } from './configuration.ts'
import { outputIdentity } from './outputs/output-identity.ts'
import { checkOutputSchema } from './outputs/output-schema.ts'
import { requireSeen } from './session/read-session.ts'
import { toSession } from './session/session.ts'
import { findSession, insertSession, isPurged, lockSession } from './session/session-sql.ts'
import { deriveTitle } from './session/title.ts'
import { settleSource } from './settle-source.ts'
import { insertTurn } from './turns/insert-turn.ts'

/**
 * Creates a Session, with its first Turn if there is one. The same body again returns the Session as it is now, even if
 * it is archived or its runtime or Git host is gone. The host is asked before anything is locked.
 * @param more `sourceOwner` provides the installation that owns a person's Session with a `source`; null: people may have none.
 *   `triggerId` names the trigger that makes it
 * @throws ApiError 409 `cloud_session_conflict` for another body
 * @throws ApiError 404 if another owner uses the id, or the Session that had it was purged
 * @throws ApiError 400 if the runtime or model does not exist, or the schema of an output is not acceptable
 * @throws ApiError 403 if the caller may not have the `source` or the environment
 * @throws ApiError 403 `cloud_compute_not_configured` or 409 `cloud_compute_outdated` for an organization that may run nowhere
 */
export async function createSession(
  context: Context,
  principal: Principal,
  key: SessionKey,
  body: CreateSession,
  {
    sourceOwner = null,
    triggerId = null,
  }: { readonly sourceOwner?: (() => Promise<string>) | null; readonly triggerId?: string | null } = {},
): Promise<{ created: boolean; session: Session }> {
  const output = body.initialTurn?.output ?? null
  const hash = requestHash({
    ...body,
    ...(output !== null && { initialTurn: { ...body.initialTurn, output: outputIdentity(output) } }),
    runtime: body.runtime === 'native' ? null : body.runtime,
    // For a person absence means the default, so null is another request.
    ...(body.environment === null && principal.kind === 'person' && { environment: 'none' }),
  })
  const replay = async () => {
    const row = requireSeen(principal, await findSession(context.db, key))
    if (!row.request_hash.equals(hash)) throw refusal('cloud_session_conflict')
    return { created: false, session: toSession(row, context) }
  }
  if ((await findSession(context.db, key)) !== null) return replay()

  if (output !== null) checkOutputSchema(output.schema, ['initialTurn', 'output', 'schema'])
  const isOfPerson = principal.kind === 'person' && body.source !== undefined
  if (isOfPerson && sourceOwner === null) throw refusal('installation_principal_required')
  await requireCompute(context.db, key.organizationId)
  const runtime = await settleRuntime(context, context.db, key.organizationId, body.runtime)
  const model = settleModel(context, body.model, runtime)
  const effort = settleEffort(context, body.effort, model)
  const { owner, initiatedBy, source } = await settleSource(context, principal, body.source, sourceOwner)
  const environmentId = await environmentToBind(context.db, principal, body.environment)
  const now = context.clock.now()
  const row = await context.db.transaction(async tx => {
    const inserted = await insertSession(tx, {
      key,
      owner,
      initiatedBy,
      requestHash: hash,
      title: body.title === undefined ? deriveTitle(undefined) : ownCredentials.text(body.title),
      titleIsDerived: body.title === undefined,
      origin: body.origin ?? null,
      source,
      model,
      effort,
      runtime,
      environmentId,
      triggerId,
      now,
    })
    if (!inserted) return null
    if (await isPurged(tx, key)) throw sessionNotFound()
    if (body.budget) await addSessionBudget(tx, key, body.budget.costUsd)
    if (body.initialTurn !== undefined) {
      const session = requireSeen(principal, await lockSession(tx, key))
      const { id, message } = body.initialTurn
      await insertTurn(tx, session, {
        id,
        message,
        replyTo: null,
        files: [],
        output,
        steers: false,
        author: principal,
        now,
      })
    }
    return findSession(tx, key)
  })
  if (row === null) return replay()
  context.wakeups.publish(topics.session(key.organizationId, key.sessionId), topics.queue)
  return { created: true, session: toSession(row, context) }
}
