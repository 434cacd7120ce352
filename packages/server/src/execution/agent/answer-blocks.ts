import { type InteractionRow, requestOf } from '../../sessions/interactions/interaction.ts'
import { asObject } from './acp-message.ts'

/**
 * What people have said to a Run that was parked, as the prompt by which its agent goes on: the process that asked is
 * gone, and the one that has loaded its conversation finds the question there without an answer.
 */
export function answerBlocks(rows: readonly InteractionRow[]): object[] {
  return rows.map(row => ({ type: 'text', text: `${questionOf(row)}\n\n${answerOf(row)}` }))
}

/** The same for an agent that has heard that its plan was refused, and not why: in the person's own words. */
export const feedbackBlocks = (rows: readonly InteractionRow[]): object[] =>
  rows.flatMap(({ answer }) => {
    const { text }: { text?: string } = answer === null ? {} : JSON.parse(answer)
    return text === undefined ? [] : [{ type: 'text', text }]
  })

/** The same for an agent that reads `_meta.berth.answers`. */
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
