import { randomUUID } from 'node:crypto'
import type { BerthClient, DecisionChoice, Interaction } from '@berth/client'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import type { CommandIo } from '../io.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'

export interface AnswerOptions {
  readonly to?: string
  readonly json?: boolean
}

export interface ApproveOptions {
  readonly for?: string
  readonly json?: boolean
}

const scopes: ReadonlyMap<string, DecisionChoice> = new Map(
  Object.entries({
    once: 'allow_once',
    turn: 'allow_turn',
    chat: 'allow_chat',
    project: 'allow_project',
  }),
)

/** Lists a Session's open interactions. */
export async function interactions(
  sessionId: string,
  options: { readonly json?: boolean },
  { client, stdout }: CommandIo,
): Promise<ExitCode> {
  const { interactions: open } = await client.call('listInteractions', { sessionId })
  for (const each of open) await stdout.line(options.json ? jsonLine(each) : printableLine(lineOf(each)))
  return exitCode.completed
}

/** Answers a question or a plan with a Turn; the Run that asked continues. */
export async function answer(
  sessionId: string,
  text: string,
  options: AnswerOptions,
  { client, stdout }: CommandIo,
): Promise<ExitCode> {
  const interactionId = options.to ?? (await theOne(client, sessionId, each => each.kind !== 'approval')).id
  const { run } = await client.call('submitTurn', {
    sessionId,
    turnId: randomUUID(),
    body: { message: text, replyTo: { interactionId } },
  })
  await stdout.line(options.json ? jsonLine(run) : printableLine(`run ${run.id} ${run.status}`))
  return exitCode.completed
}

/** Approves or denies an approval. */
export async function decide(
  sessionId: string,
  interactionId: string | undefined,
  verb: 'approve' | 'deny',
  options: ApproveOptions,
  { client, stdout }: CommandIo,
): Promise<ExitCode> {
  const choice = verb === 'deny' ? 'deny' : scopes.get(options.for ?? 'once')
  if (choice === undefined) throw new UsageError(`--for must be one of ${[...scopes.keys()].join(', ')}`)
  const wanted = await theOne(
    client,
    sessionId,
    each => each.kind === 'approval' && (interactionId === undefined || each.id === interactionId),
  )
  const requestId = wanted.request.approval?.requestId ?? ''
  const decision = { requestId, choice, idempotencyKey: randomUUID() }
  const { outcome } = await client.call('decideInteraction', { sessionId, interactionId: wanted.id, body: decision })
  await stdout.line(
    options.json ? jsonLine(outcome) : printableLine(`${wanted.id} ${outcome.resolution ?? outcome.status}`),
  )
  return exitCode.completed
}

async function theOne(
  client: BerthClient,
  sessionId: string,
  fits: (interaction: Interaction) => boolean,
): Promise<Interaction> {
  const { interactions: open } = await client.call('listInteractions', { sessionId })
  const [found, another] = open.filter(fits)
  if (found === undefined)
    throw new UsageError('the session has no such open interaction; `berth interactions` lists the open ones')
  if (another !== undefined)
    throw new UsageError('several interactions are open; name one (`berth interactions` lists them)')
  return found
}

function lineOf({ id, kind, request }: Interaction): string {
  const { approval, prompt, questions = [] } = request
  const text = approval?.title ?? approval?.toolName ?? prompt ?? questionsOf(questions)
  return `${id}  ${kind.padEnd(14)}  ${text}`
}

/** Returns the questions with their options; if there are several, with the field names that a JSON answer uses. */
function questionsOf(questions: NonNullable<Interaction['request']['questions']>): string {
  const shown = questions.map(({ question, options }) =>
    options.length === 0 ? question : `${question} [${options.join(' | ')}]`,
  )
  if (shown.length < 2) return shown[0] ?? ''
  return shown.map((text, index) => `${questions[index]?.fieldId ?? index}: ${text}`).join('; ')
}
