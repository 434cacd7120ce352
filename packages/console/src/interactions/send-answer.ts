import { answerMessage, type Interaction, type SubmitTurn } from '@berth/client'
import { berth } from '../api/client.ts'
import { interactionsQuery, queryClient } from '../api/queries.ts'

/** Answers a question or a plan by a Turn, and takes it out of the open ones. Repeating it with its id admits it once. */
export async function sendAnswer(
  { sessionId, id }: Interaction,
  turnId: string,
  answer: Pick<SubmitTurn, 'message' | 'files'>,
): Promise<void> {
  await berth.call('submitTurn', { sessionId, turnId, body: { ...answer, replyTo: { interactionId: id } } })
  queryClient.setQueryData(interactionsQuery(sessionId).queryKey, open => open?.filter(other => other.id !== id))
}

/** Returns the message that answers a plan, or a single question, in a person's own words. */
export function answerOf({ request: { questions = [] } }: Interaction, text: string): string {
  const [question] = questions
  const takesAnyText = question !== undefined && (question.options.length === 0 || question.allowCustom === true)
  return takesAnyText ? answerMessage(questions, [{ chosen: [], freeText: text }]) : text
}
