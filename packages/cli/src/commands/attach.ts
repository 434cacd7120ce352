import { followSession, type Interaction, isTerminalRunEvent, type Session } from '@berth/client'
import { attachLive } from '../attach/attach-live.ts'
import { chooseSession } from '../attach/choose-session.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import type { CommandIo } from '../io.ts'
import { plainLine } from '../plain-line.ts'
import { exact, jsonLine, printableLine } from '../terminal-text.ts'
import { noticeOf, paceOf } from './interruption-notice.ts'

export interface AttachOptions {
  readonly last: number
  readonly json?: boolean
}

/**
 * Shows a Session as it goes on. In a terminal, people answer and send messages there until they leave; elsewhere it prints
 * Events until the active Run has ended, and the commands that answer.
 *
 * @param named absent: the person chooses in a terminal
 * @throws UsageError
 */
export async function attach(
  named: string | undefined,
  { last, json }: AttachOptions,
  io: CommandIo,
): Promise<ExitCode> {
  const sessionId = named ?? (await chooseSession(io))
  if (sessionId === null) return exitCode.completed
  const { session } = await io.client.call('getSession', { sessionId })
  const after = Math.max(0, session.lastEventSequence - last)
  const isLive = io.stdin.isTTY === true && io.stdout.isTerminal && json !== true
  return isLive ? attachLive(session, after, io) : printLog(session, after, json === true, io)
}

async function printLog(session: Session, after: number, json: boolean, io: CommandIo): Promise<ExitCode> {
  const { client, stdout, stderr } = io
  const { id, activeRunId, lastEventSequence } = session
  const format = json ? jsonLine : plainLine
  const ended = new AbortController()
  if (activeRunId === undefined && after >= lastEventSequence) return exitCode.completed
  const shown = new Set<string>()
  const events = followSession({
    client,
    sessionId: id,
    after,
    signal: ended.signal,
    ...paceOf(stdout),
    until: event =>
      activeRunId === undefined
        ? event.sequence >= lastEventSequence
        : isTerminalRunEvent(event) && event.subject.runId === activeRunId,
    onInterruption: interruption => {
      const notice = noticeOf(interruption)
      if (notice !== null) stderr.line(`berth: ${printableLine(notice)}`).catch(() => {})
    },
  })
  let code: ExitCode = exitCode.completed
  for await (const event of events) {
    await stdout.line(format(event))
    if (isTerminalRunEvent(event) && event.subject.runId === activeRunId) {
      code =
        event.type === 'svc.run.completed'
          ? code
          : event.type === 'svc.run.cancelled'
            ? exitCode.cancelled
            : exitCode.failed
    }
    if (event.sequence < lastEventSequence) continue
    if (event.sequence > lastEventSequence && event.type !== 'svc.interaction.opened') continue
    const { interactions } = await client.call('listInteractions', { sessionId: id })
    for (const interaction of interactions) {
      if (shown.has(interaction.id)) continue
      shown.add(interaction.id)
      for (const line of howToAnswer(interaction)) await stderr.line(line)
    }
  }
  return code
}

/** Returns the question of an Interaction, and the commands that answer it. */
function howToAnswer(interaction: Interaction): string[] {
  const { approval, prompt, plan, questions = [] } = interaction.request
  const [session, id] = [interaction.sessionId, interaction.id].map(word => quoted(word))
  if (approval !== undefined) {
    const { toolName, title = '', input } = approval
    const action = [toolName, title, input === undefined ? '' : JSON.stringify(input)].filter(Boolean).map(exactLine)
    const scopes = approval.rememberScopes ?? []
    return [
      `berth: the agent asks to use ${action.join(': ')}`,
      `  berth approve ${session} ${id}`,
      ...scopes.map(scope => `  berth approve ${session} ${id} --for ${scope}`),
      `  berth deny ${session} ${id}`,
    ]
  }
  if (interaction.kind === 'exit_plan_mode') {
    return [
      `berth: the agent proposes a plan: ${exactLine(plan ?? prompt ?? '')}`,
      `  berth answer ${session} approve --to ${id}`,
      `  berth answer ${session} 'what to change' --to ${id}`,
    ]
  }
  return [
    ...questions.map(({ question, options, fieldId }, at) => {
      const field = questions.length > 1 ? `${exactLine(fieldId ?? String(at))}: ` : ''
      return `berth: the agent asks: ${field}${exactLine(question)}${options.length === 0 ? '' : ` [${options.map(exactLine).join(' | ')}]`}`
    }),
    `  berth answer ${session} '${questions.length > 1 ? '{"field": "value"}' : 'text'}' --to ${id}`,
  ]
}

const exactLine = (text: string): string => exact(text).replaceAll('\n', '\\n')

/** Quotes a word for a shell, if it needs that. */
const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${exactLine(word).replaceAll("'", "'\\''")}'`
