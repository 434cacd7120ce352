import { refusal, sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { findLiveLease } from '../leases/lease-sql.ts'
import { appendEvents } from '../log/append.ts'
import { endRun } from '../runs/end-run.ts'
import { resumeIfAnswered } from '../runs/resume-run.ts'
import { readFormAnswer, readPlanAnswer } from './answer.ts'
import { type BudgetAnswer, raiseBudget, readBudgetAnswer } from './budget-question.ts'
import { type InteractionRow, interactionEvent, requestOf } from './interaction.ts'
import { type Answering, findInteraction, markDelivered, resolveOpen } from './interaction-sql.ts'

/** An open question or plan, and the answer that a message gives to it. */
export interface Reply {
  readonly interaction: InteractionRow
  readonly answering: Answering
  /** The answer to the platform's question about a budget. */
  readonly budget?: { readonly id: string; readonly answer: BudgetAnswer }
}

/**
 * Reads a message as the answer to an Interaction. The caller holds the Session's lock.
 * @throws ApiError 404 if the Interaction is unknown
 * @throws ApiError 409 `cloud_interaction_conflict` if it is closed or is an approval
 * @throws ApiError 400 if a form is filled in wrongly
 * @throws ApiError 403 `insufficient_scope` if it raises a budget that the caller may not change
 */
export async function readReply(
  tx: Queryable,
  principal: Principal,
  key: SessionKey,
  { replyTo, message, now }: { readonly replyTo: string; readonly message: string; readonly now: Date },
): Promise<Reply> {
  const interaction = await findInteraction(tx, key, replyTo)
  if (interaction === null) throw sessionNotFound()
  if (interaction.status !== 'open' || interaction.kind === 'approval') throw refusal('cloud_interaction_conflict')
  if (interaction.kind === 'exit_plan_mode') {
    const answer = readPlanAnswer(message)
    const resolution = answer.approved ? 'approved' : 'denied'
    return { interaction, answering: { resolution, answer: JSON.stringify(answer) } }
  }
  const answer = readFormAnswer(requestOf(interaction).questions ?? [], message)
  const answering = { resolution: null, answer: JSON.stringify(answer) }
  const { budget_id: id } = interaction
  if (id === null) return { interaction, answering }
  return {
    interaction,
    answering,
    budget: { id, answer: await readBudgetAnswer(tx, principal, interaction, answer.content, now) },
  }
}

/**
 * Resolves the Interaction that a Turn answers, and resumes its Run, or ends it if the answer is to stop. The caller holds
 * the Session's lock.
 */
export async function answerByTurn(
  tx: Queryable,
  principal: Principal,
  key: SessionKey,
  reply: Reply & { readonly turnId: string },
  now: Date,
): Promise<void> {
  const { interaction, answering, budget, turnId } = reply
  const resolved = await resolveOpen(tx, key, interaction.id, { ...answering, turnId }, now)
  await appendEvents(tx, key, [interactionEvent(resolved)], now)
  if (budget?.answer.kind === 'stop') {
    // The worker that holds the Run stops its agent and seals the workspace.
    await endRun(tx, key, interaction.run_id, { status: 'completed', stopReason: 'cost_budget' }, now, {
      seal: true,
      isStopped: true,
    })
    return
  }
  if (budget !== undefined) {
    await raiseBudget(tx, principal, key, { budgetId: budget.id, byUsd: budget.answer.byUsd }, now)
    // An agent whose sandbox is there repeats its request; only the next process of a parked Run has to be told.
    const { lease_id, journal_offset } = interaction
    if ((await findLiveLease(tx, key))?.id === lease_id) await markDelivered(tx, lease_id, [journal_offset], now)
  }
  await resumeIfAnswered(tx, key, interaction.run_id, now)
}
