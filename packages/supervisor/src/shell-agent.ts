import { randomUUID } from 'node:crypto'
import {
  type AgentApp,
  type ContentBlock,
  methods,
  type PromptResponse,
  RequestError,
  type ToolCallContent,
  type ToolCallUpdate,
} from '@agentclientprotocol/sdk'
import { runScript, type ScriptResult } from './run-script.ts'
import { type ScriptTurn, scriptAgent } from './script-agent.ts'

const MAX_TITLE_CHARACTERS = 120

/**
 * Returns the `shell` runtime as an ACP agent: a prompt is a bash script, its output is one tool call, and its exit
 * code is the outcome. It keeps only the working directory between prompts, so any session can be loaded.
 */
export const shellAgent = (version: string): AgentApp => scriptAgent('berth-shell', version, runPrompt)

async function runPrompt({ client, sessionId, prompt, cwd, signal }: ScriptTurn): Promise<PromptResponse> {
  const script = scriptOf(prompt)
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
