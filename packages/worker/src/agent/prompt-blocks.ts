import { createHash } from 'node:crypto'
import { extname } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Brought } from '@berth/core/checkpoints/brought.ts'
import { type InteractionRow, requestOf } from '@berth/core/sessions/interactions/interaction.ts'
import type { OutputIssue } from '@berth/core/sessions/outputs/judge-output.ts'
import type { TurnRow } from '@berth/core/sessions/turns/turn.ts'
import { asObject } from './acp-message.ts'

/** Returns the path of a Turn's file inside the sandbox. */
export const inputPath = (turnSequence: number, name: string): string =>
  `/workspace/.berth/inputs/${turnSequence}/${inputFileName(name)}`

/**
 * Returns a Turn as ACP content: the recap if the agent needs one, the commits that were merged into its files, the
 * message verbatim, a link to each file, then how to answer if the Turn asks for an output.
 *
 * @param brought what the workspace holds since this Turn; null if the Turn brought nothing
 * @param isScript the agent runs the message, so it is told nothing else
 */
export function promptBlocks(
  turn: TurnRow,
  recap: string | null,
  { isScript = false, brought = null }: { readonly isScript?: boolean; readonly brought?: Brought | null } = {},
): object[] {
  return [
    ...(recap === null ? [] : [{ type: 'text', text: recap }]),
    ...(brought === null || brought.merged.length === 0 || isScript
      ? []
      : [{ type: 'text', text: broughtText(brought) }]),
    { type: 'text', text: turn.message },
    ...turn.files.map(file => ({
      type: 'resource_link',
      name: file.name,
      uri: pathToFileURL(inputPath(turn.sequence, file.name)).href,
      mimeType: file.mediaType,
      size: file.sizeBytes,
    })),
    ...(turn.output_schema === null || isScript ? [] : [{ type: 'text', text: outputOrder(turn.output_schema) }]),
  ]
}

/**
 * Returns people's answers to a parked Run as the prompt on which its agent continues. The process that asked is gone.
 * The one that has loaded its conversation finds the questions there without answers.
 */
export function answerBlocks(rows: readonly InteractionRow[]): object[] {
  return rows.map(row => ({
    type: 'text',
    text: row.budget_id === null ? `${questionOf(row)}\n\n${answerOf(row)}` : budgetRaised,
  }))
}

/** Tells an agent which commits were merged into its files, and what it has to finish of that. */
export function broughtText({ merged, conflicts, conflictCount, submodules, baseOid }: Brought): string {
  const names = merged.map(({ kind, oid }) =>
    kind === 'base'
      ? `${oid}, the present commit of the branch that your work goes to`
      : `${oid}, which somebody else has pushed to the branch of your work`,
  )
  const rest = conflictCount - conflicts.length
  return [
    `Before this message, commits were merged into the files of your working tree: ${names.join('; and ')}. Nothing was committed in your repository, and your branch did not move. \`git diff ${baseOid}\` shows what is your work.`,
    ...(conflictCount === 0
      ? ['There were no conflicts.']
      : [
          'These paths are in conflict. Where git could not unite the lines of a file, both sides stand between `<<<<<<< work` (your work) and `>>>>>>>` (the merged commit). Of a binary file, and of one that one side has deleted and the other changed, the version that is left is in place. Resolve every one, and leave no markers:',
          [
            ...conflicts.map(({ path, kind }) => `- ${path} (${kind})`),
            ...(rest > 0 ? [`- and ${rest} more: search for the markers`] : []),
          ].join('\n'),
        ]),
    ...(submodules.length === 0
      ? []
      : [
          `These submodules moved to another commit. If you have checked one out, check that commit out, or it counts as your change: ${submodules.join(', ')}`,
        ]),
  ].join('\n\n')
}

/** Tells an agent that was stopped by a budget that it may go on. */
export const budgetRaised =
  'The work was paused because a budget was reached. It may go on now: continue where you stopped.'

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
  const lines = questions.map(({ question, fieldId }) => (fieldId === undefined ? question : `${fieldId}: ${question}`))
  return `You asked:\n${lines.join('\n')}`
}

function answerOf(row: InteractionRow): string {
  if (row.answer === null) return 'Nobody will answer. Go on without.'
  const answer: { approved?: boolean; text?: string; content?: object } = JSON.parse(row.answer)
  if (answer.approved === true) return 'The plan is approved. Plan mode is over: carry it out.'
  if (answer.approved === false) return `The plan is not approved. Go on planning: ${answer.text}`
  return `The answer is: ${answer.text ?? JSON.stringify(answer.content)}`
}

/** Tells an agent to answer with JSON that satisfies a schema. */
export const outputOrder = (schema: string): string =>
  `Your answer has to be JSON. When your work is done, end your last message with one fenced block that begins with \`\`\`json and holds a single JSON value, and write nothing after it. The value has to satisfy this JSON Schema:\n\n${schema}`

/** Tells an agent what is wrong with the JSON of its last message, and asks for it once more. */
export const outputCorrection = (schema: string, issues: readonly OutputIssue[]): string =>
  [
    'The JSON of your last message does not satisfy the JSON Schema that was asked for:',
    issues
      .map(({ path, message }) => `- ${path.length === 0 ? 'the value' : `/${path.join('/')}`} ${message}`)
      .join('\n'),
    `Answer once more, with one fenced block that begins with \`\`\`json and holds a single JSON value that satisfies the schema, and nothing else:\n\n${schema}`,
  ].join('\n\n')

/** Longest file name, in bytes, that file systems accept. */
const mostBytes = 255
const mostExtensionBytes = 32

/**
 * Returns the name of a Turn's file inside the sandbox. Names are bounded in characters, file systems in bytes. A name
 * that is too long keeps its beginning and extension, and gets a digest so that two names never become one.
 */
export function inputFileName(name: string): string {
  if (Buffer.byteLength(name) <= mostBytes) return name
  const whole = extname(name)
  const extension = Buffer.byteLength(whole) <= mostExtensionBytes ? whole : ''
  const rest = `~${createHash('sha256').update(name).digest('hex').slice(0, 12)}${extension}`
  let room = mostBytes - Buffer.byteLength(rest)
  let beginning = ''
  for (const character of name) {
    room -= Buffer.byteLength(character)
    if (room < 0) break
    beginning += character
  }
  return beginning + rest
}
