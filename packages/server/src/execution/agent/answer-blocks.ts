import { type InteractionRow, requestOf } from '../../sessions/interactions/interaction.ts'
import { asObject } from './acp-message.ts'

/**
 * Returns people's answers to a parked Run as the prompt on which its agent continues. The process that asked is gone.
 * The one that has loaded its conversation finds the questions there without answers.
 */
export function answerBlocks(rows: readonly InteractionRow[]): object[] {
  return rows.map(row => ({ type: 'text', text: `${questionOf(row)}\n\n${answerOf(row)}` }))
}

/** Returns the feedback, in the person's words, for an agent that only knows that its plan was refused. */
export const feedbackBlocks = (rows: readonly InteractionRow[]): object[] =>
  rows.flatMap(({ answer }) => {
    const { text }: { text?: string } = answer === null ? {} : JSON.parse(answer)
    return text === undefined ? [] : [{ type: 'text', text }]
  })

/** Returns the answers for an agent that reads `_meta.berth.answers`. */
export const answersMeta = (rows: readonly InteractionRow[]): object[] =>
  rows.map(row => ({ kind: row.kind, ...(row.answer !== null && asObject(JSON.parse(row.answer))) }))

function questionOf(row: InteractionRow): string {
  const { questions = [], prompt, plan } = requestOf(row)
  if (row.kind === 'exit_plan_mode') return `You asked to leave plan mode: ${prompt}\n\n${plan}`
  const asked = questions.map(({ question, fieldId }) => (fieldId === undefined ? question : `${fieldId}: ${question}`))
  return `You asked:\n${asked.join('\n')}`
}

function answerOf(row: InteractionRow): string {
  if (row.answer === null) return 'Nobody will answer. Go on without.'
  const answer: { approved?: boolean; text?: string; content?: object } = JSON.parse(row.answer)
  if (answer.approved === true) return 'The plan is approved. Plan mode is over: carry it out.'
  if (answer.approved === false) return `The plan is not approved. Go on planning: ${answer.text}`
  return `The answer is: ${answer.text ?? JSON.stringify(answer.content)}`
}
