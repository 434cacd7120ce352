import { randomUUID } from 'node:crypto'
import type { ContentBlock, PromptResponse, SessionId, ToolCallContent, ToolCallUpdate } from '@agentclientprotocol/sdk'
import {
  type AgentApp,
  type AgentContext,
  agent,
  methods,
  PROTOCOL_VERSION,
  RequestError,
} from '@agentclientprotocol/sdk'
import { runScript, type ScriptResult } from './run-script.ts'

const MAX_TITLE_CHARACTERS = 120

interface Session {
  readonly cwd: string
  /** Ends the running script. */
  running?: AbortController
}

/**
 * Returns the `shell` runtime as an ACP agent: a prompt is a bash script, its output is one tool call, and its exit
 * code is the outcome. It keeps only the working directory between prompts, so any session can be loaded.
 */
export function shellAgent(version: string): AgentApp {
  const sessions = new Map<SessionId, Session>()
  return agent({ name: 'berth-shell' })
    .onRequest(methods.agent.initialize, () => ({
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: 'berth-shell', version },
      agentCapabilities: { loadSession: true },
    }))
    .onRequest(methods.agent.session.new, ({ params }) => {
      const sessionId = randomUUID()
      sessions.set(sessionId, { cwd: params.cwd })
      return { sessionId }
    })
    .onRequest(methods.agent.session.load, ({ params }) => {
      sessions.set(params.sessionId, { cwd: params.cwd })
      return {}
    })
    .onNotification(methods.agent.session.cancel, ({ params }) => {
      sessions.get(params.sessionId)?.running?.abort()
    })
    .onRequest(methods.agent.session.prompt, async ({ params, client, signal }) => {
      const session = sessions.get(params.sessionId)
      if (!session) throw RequestError.resourceNotFound(params.sessionId)
      if (session.running) throw RequestError.invalidRequest(undefined, 'a script is running in this session')
      const running = new AbortController()
      session.running = running
      try {
        const stop = AbortSignal.any([running.signal, signal])
        return await prompt(client, params.sessionId, scriptOf(params.prompt), session.cwd, stop)
      } finally {
        delete session.running
      }
    })
}

async function prompt(
  client: AgentContext,
  sessionId: SessionId,
  script: string,
  cwd: string,
  signal: AbortSignal,
): Promise<PromptResponse> {
  const toolCallId = randomUUID()
  await client.notify(methods.client.session.update, {
    sessionId,
    update: {
      sessionUpdate: 'tool_call',
      toolCallId,
      name: 'bash',
      title: titleOf(script),
      kind: 'execute',
      status: 'in_progress',
    },
  })
  const end = (update: Omit<ToolCallUpdate, 'toolCallId'>) =>
    client.notify(methods.client.session.update, {
      sessionId,
      update: { sessionUpdate: 'tool_call_update', toolCallId, ...update },
    })
  let result: ScriptResult
  try {
    result = await runScript(script, cwd, signal)
  } catch (error) {
    const why = `The script could not be run: ${error instanceof Error ? error.message : String(error)}`
    await end({ status: 'failed', content: textContent(why) })
    throw RequestError.internalError(undefined, why)
  }
  const { text, truncated } = result.output.text()
  await end({
    status: result.exitCode === 0 ? 'completed' : 'failed',
    content: textContent(text),
    rawOutput: { exitCode: result.exitCode, signal: result.signal },
    ...(truncated ? { _meta: { berth: { truncated: true } } } : {}),
  })
  return outcomeOf(result, signal.aborted)
}

function textContent(text: string): ToolCallContent[] {
  return [{ type: 'content', content: { type: 'text', text } }]
}

function outcomeOf({ exitCode, output }: ScriptResult, cancelled: boolean): PromptResponse {
  const summary = output.summary()
  const meta = output.isSummaryCut ? { summary, summaryCut: true } : { summary }
  if (cancelled) return { stopReason: 'cancelled', _meta: { berth: meta } }
  const failure = exitCode === 0 ? {} : { stopReason: 'error', errorCode: 'shell_exit_nonzero' }
  return { stopReason: 'end_turn', _meta: { berth: { ...meta, ...failure } } }
}

function scriptOf(prompt: readonly ContentBlock[]): string {
  return prompt.flatMap(block => (block.type === 'text' ? [block.text] : [])).join('\n')
}

function titleOf(script: string): string {
  const line = script.split('\n').find(candidate => candidate.trim() !== '')
  return line ? Array.from(line.trim()).slice(0, MAX_TITLE_CHARACTERS).join('') : 'bash'
}
