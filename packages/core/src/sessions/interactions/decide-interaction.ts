import type { DecideInteraction, DecisionChoice, DecisionOutcome, Resolution } from '@berth/contract'
import { invalidField, refusal, sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Context } from '../../context.ts'
import { proposeHost } from '../../environments/proposed-hosts.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { appendEvents } from '../log/append.ts'
import { lockVisibleSession } from '../session/read-session.ts'
import { hostOf } from './host-question.ts'
import { type InteractionRow, interactionEvent, likenessOf, outcomeOf, requestOf } from './interaction.ts'
import { findInteraction, remember, resolveOpen } from './interaction-sql.ts'

const resolutionOf: Readonly<Record<DecisionChoice, Resolution>> = {
  allow_once: 'approved',
  allow_turn: 'turn_allowed',
  allow_chat: 'always_allowed',
  allow_project: 'project_allowed',
  deny: 'denied',
}

/**
 * Decides an approval under the Session's lock: the first decision wins, and an identical one gets the same answer. The
 * worker that holds the Run passes it to the agent; no Turn is made.
 * @throws ApiError 404
 * @throws ApiError 400 for `allow_project` if the approval does not offer it
 * @throws ApiError 409 `cloud_interaction_conflict`, with the winning decision, if there is one, as `outcome`
 */
export async function decideInteraction(
  context: Context,
  principal: Principal,
  key: SessionKey,
  interactionId: string,
  decision: DecideInteraction,
): Promise<DecisionOutcome> {
  const now = context.clock.now()
  const { outcome, decided, environmentId } = await context.db.transaction(async tx => {
    const session = await lockVisibleSession(tx, principal, key)
    const row = await findInteraction(tx, key, interactionId)
    const outcome = row === null ? null : outcomeOf(row)
    if (row !== null && outcome !== null && isSame(row, decision))
      return { outcome, decided: false, environmentId: null }
    if (row === null || session.archived_at !== null) throw sessionNotFound()
    if (outcome !== null) throw refusal('cloud_interaction_conflict', { outcome })
    if (!isOpenTo(row, decision, now)) throw refusal('cloud_interaction_conflict')
    const decidedOutcome = await decide(tx, key, row, decision, principal, now)
    return { outcome: decidedOutcome, decided: true, environmentId: environmentOf(row, decision) }
  })
  if (decided) {
    const { organizationId, sessionId } = key
    context.wakeups.publish(topics.session(organizationId, sessionId), topics.control(organizationId, sessionId))
    if (environmentId !== null) context.wakeups.publish(topics.hosts(organizationId, environmentId))
  }
  return outcome
}

const isSame = (row: InteractionRow, { requestId, choice, idempotencyKey }: DecideInteraction): boolean =>
  row.request_id === requestId && row.choice === choice && row.idempotency_key === idempotencyKey

/** A deadline counts from the moment it is reached, even if the sweeper has not closed the approval yet. */
const isOpenTo = (row: InteractionRow, { requestId }: DecideInteraction, now: Date): boolean =>
  row.status === 'open' && row.request_id === requestId && row.deadline !== null && row.deadline > now

/** Returns the environment for whose Sessions a decision allows a host; null if it is about this Session alone. */
const environmentOf = (row: InteractionRow, { choice }: Pick<DecideInteraction, 'choice'>): string | null =>
  choice === 'allow_project' && row.destination !== null ? hostOf(row.agent_request).environmentId : null

async function decide(
  tx: Queryable,
  key: SessionKey,
  row: InteractionRow,
  { choice, idempotencyKey }: Pick<DecideInteraction, 'choice' | 'idempotencyKey'>,
  { kind, id }: Principal,
  now: Date,
): Promise<DecisionOutcome> {
  const resolution = resolutionOf[choice]
  const { approval } = requestOf(row)
  if (choice === 'allow_project') await allowForEnvironment(tx, key, row, { kind, id }, now)
  const resolved = await resolveOpen(tx, key, row.id, { resolution, choice, idempotencyKey, by: { kind, id } }, now)
  if (approval !== undefined && (choice === 'allow_turn' || choice === 'allow_chat')) {
    await remember(tx, key, choice === 'allow_turn' ? row.run_id : null, likenessOf(approval, row.destination))
  }
  await appendEvents(tx, key, [interactionEvent(resolved)], now)
  return { interactionId: row.id, choice, status: 'resolved', resolution, decidedBy: { kind, id } }
}

/** @throws ApiError 400 if the approval is about no host of an environment */
async function allowForEnvironment(
  tx: Queryable,
  { organizationId, sessionId }: SessionKey,
  row: InteractionRow,
  by: Pick<Principal, 'kind' | 'id'>,
  now: Date,
): Promise<void> {
  const offered = requestOf(row).approval?.rememberScopes?.includes('project') === true
  if (row.destination === null || !offered) throw invalidField(['choice'], 'is not offered by this approval')
  const { environmentId, host } = hostOf(row.agent_request)
  await proposeHost(tx, { organizationId, environmentId }, { host, sessionId, by }, now)
}
