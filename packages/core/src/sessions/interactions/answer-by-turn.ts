import { refusal, sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { appendEvents } from '../log/append.ts'
import { resumeIfAnswered } from '../runs/resume-run.ts'
import { readFormAnswer, readPlanAnswer } from './answer.ts'
import { type InteractionRow, interactionEvent, requestOf } from './interaction.ts'
import { type Answering, findInteraction, resolveOpen } from './interaction-sql.ts'

/** An open question or plan, and the answer that a message gives to it. */
export interface Reply {
  readonly interaction: InteractionRow
  readonly answering: Answering
}

/**
 * Reads a message as the answer to an Interaction. The caller holds the Session's lock.
 * @throws ApiError 404 if the Interaction is unknown
 * @throws ApiError 409 `cloud_interaction_conflict` if it is closed or is an approval
 * @throws ApiError 400 if a form is filled in wrongly
 */
export async function readReply(
  tx: Queryable,
  key: SessionKey,
  interactionId: string,
  message: string,
): Promise<Reply> {
  const interaction = await findInteraction(tx, key, interactionId)
  if (interaction === null) throw sessionNotFound()
  if (interaction.status !== 'open' || interaction.kind === 'approval') throw refusal('cloud_interaction_conflict')
  if (interaction.kind === 'exit_plan_mode') {
    const answer = readPlanAnswer(message)
    const resolution = answer.approved ? 'approved' : 'denied'
    return { interaction, answering: { resolution, answer: JSON.stringify(answer) } }
  }
  const answer = readFormAnswer(requestOf(interaction).questions ?? [], message)
  return { interaction, answering: { resolution: null, answer: JSON.stringify(answer) } }
}

/** Resolves the Interaction that a Turn answers, and resumes its Run. The caller holds the Session's lock. */
export async function answerByTurn(
  tx: Queryable,
  key: SessionKey,
  reply: Reply,
  turnId: string,
  now: Date,
): Promise<void> {
  const { interaction, answering } = reply
  const resolved = await resolveOpen(tx, key, interaction.id, { ...answering, turnId }, now)
  await appendEvents(tx, key, [interactionEvent(resolved)], now)
  await resumeIfAnswered(tx, key, interaction.run_id, now)
}
