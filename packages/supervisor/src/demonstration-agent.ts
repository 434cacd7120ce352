import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type AgentApp,
  methods,
  type PromptResponse,
  type RequestPermissionResponse,
  type SessionUpdate,
} from '@agentclientprotocol/sdk'
import { CHECK, FILE, readSample } from './demonstration-sample.ts'
import { runScript } from './run-script.ts'
import { type ScriptTurn, scriptAgent } from './script-agent.ts'

const elsewhere =
  'This is a **demonstration**: a script, without a model. It works on the sample repository alone, as the service and this script left it, and changes nothing here.\n\n' +
  'Add a provider of models, and start a Session with another agent.'
const begun = (name: string) => `This is a **demonstration**: a script, without a model. I write the ${name} greeting.`
const done = (option: string) => `## What I did

- \`${FILE}\` greets with \`${option}\`, too.
- \`${CHECK}\` passes.

Review the change, create the pull request, and merge it.`
const unchecked = (option: string) => `## What I did

- \`${FILE}\` greets with \`${option}\`, too.

I did not run \`${CHECK}\`, because I was not allowed to.`

/**
 * Returns the `demo` runtime as an ACP agent: whatever the prompt, it adds a greeting to the sample repository, asks once
 * to run its test, and says what it did. It keeps nothing, so any session can be loaded.
 */
export const demonstrationAgent = (version: string): AgentApp =>
  scriptAgent('berth-demonstration', version, demonstrate)

async function demonstrate(turn: ScriptTurn): Promise<PromptResponse> {
  const sample = readSample(turn.cwd)
  if (sample === null) return write(turn, elsewhere)
  const { before, after, added } = sample
  const path = join(turn.cwd, FILE)
  await write(turn, begun(added.name))
  await step(turn, 'read', `Read ${FILE}`, { content: [text(before)] })
  writeFileSync(path, after)
  await step(turn, 'edit', `Edit ${FILE}`, { content: [{ type: 'diff', path, oldText: before, newText: after }] })
  return check(turn, added.option)
}

/** Asks to run the test, and runs it. */
async function check(turn: ScriptTurn, option: string): Promise<PromptResponse> {
  const toolCallId = randomUUID()
  const call = { toolCallId, title: CHECK, kind: 'execute', rawInput: { command: CHECK } } as const
  await update(turn, { sessionUpdate: 'tool_call', ...call, status: 'pending' })
  const { outcome } = await turn.client
    .request<RequestPermissionResponse>(
      methods.client.session.requestPermission,
      {
        sessionId: turn.sessionId,
        toolCall: call,
        options: [
          { optionId: 'allow', name: 'Allow once', kind: 'allow_once' },
          { optionId: 'deny', name: 'Deny', kind: 'reject_once' },
        ],
      },
      { cancellationSignal: turn.signal },
    )
    .catch(error => {
      if (turn.signal.aborted) return { outcome: { outcome: 'cancelled' as const } }
      throw error
    })
  if (turn.signal.aborted || outcome.outcome === 'cancelled') return { stopReason: 'cancelled' }
  if (outcome.optionId !== 'allow') {
    await update(turn, { sessionUpdate: 'tool_call_update', toolCallId, status: 'failed' })
    return write(turn, unchecked(option))
  }
  const { exitCode, output } = await runScript(CHECK, turn.cwd, turn.signal)
  if (turn.signal.aborted) return { stopReason: 'cancelled' }
  const status = exitCode === 0 ? 'completed' : 'failed'
  await update(turn, { sessionUpdate: 'tool_call_update', toolCallId, status, content: [text(output.text().text)] })
  return write(
    turn,
    exitCode === 0 ? done(option) : `\`${CHECK}\` fails. The shell of this sandbox may differ from that of the sample.`,
  )
}

type Step = Extract<SessionUpdate, { sessionUpdate: 'tool_call' }>

function step(
  turn: ScriptTurn,
  kind: 'read' | 'edit',
  title: string,
  { content }: Pick<Step, 'content'>,
): Promise<void> {
  const call: Step = { sessionUpdate: 'tool_call', toolCallId: randomUUID(), kind, title, status: 'completed' }
  return update(turn, content === undefined ? call : { ...call, content })
}

async function write(turn: ScriptTurn, message: string): Promise<PromptResponse> {
  await update(turn, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: message } })
  return { stopReason: 'end_turn' }
}

const update = ({ client, sessionId }: ScriptTurn, update: SessionUpdate): Promise<void> =>
  client.notify(methods.client.session.update, { sessionId, update })

const text = (content: string) => ({ type: 'content' as const, content: { type: 'text' as const, text: content } })
