// An ACP agent of negligible cost, so that the measured time is Berth's. It asks its model, runs a command if the model
// wants one, and reports the command's beginning and end. Both reports carry the time of their write, by the clock that
// all processes of the machine share. It imports no other file, because the sandbox sees only this one.
import { spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'

const gateway = process.env['OPENAI_BASE_URL'] ?? ''
const tools = [{ type: 'function', function: { name: 'bash', parameters: { type: 'object' } } }]

const write = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const sendUpdate = (update: object) => write({ method: 'session/update', params: { sessionId: 'steps', update } })
const written = () => String(process.hrtime.bigint())

/** @returns true if the model wants the command to run */
async function ask(messages: readonly object[]): Promise<boolean> {
  const response = await fetch(`${gateway}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer bench' },
    body: JSON.stringify({ model: 'main/m1', stream: true, messages, tools }),
  })
  const answer = await response.text()
  if (!response.ok) throw new Error(`the model answered ${response.status}: ${answer}`)
  return answer.includes('"finish_reason":"tool_calls"')
}

async function work(): Promise<void> {
  const messages: object[] = [{ role: 'user', content: 'Go on.' }]
  for (let step = 0; await ask(messages); step += 1) {
    const toolCallId = `call-${process.hrtime.bigint()}`
    sendUpdate({ sessionUpdate: 'tool_call', toolCallId, kind: 'execute', status: 'in_progress', name: written() })
    const { stdout } = spawnSync('sh', ['-c', `echo ${step} >>steps.txt; tail -n 1 steps.txt`])
    const content = [{ type: 'content', content: { type: 'text', text: String(stdout) } }]
    sendUpdate({ sessionUpdate: 'tool_call_update', toolCallId, status: 'completed', content, title: written() })
    const call = { id: toolCallId, type: 'function', function: { name: 'bash', arguments: '{}' } }
    messages.push({ role: 'assistant', content: null, tool_calls: [call] })
    messages.push({ role: 'tool', tool_call_id: toolCallId, content: String(stdout) })
  }
  sendUpdate({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'All steps are done.' } })
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line)
  if (method === 'initialize') write({ id, result: { protocolVersion: 1, agentCapabilities: {} } })
  if (method === 'session/new') write({ id, result: { sessionId: 'steps' } })
  if (method !== 'session/prompt') continue
  await work().then(
    () => write({ id, result: { stopReason: 'end_turn' } }),
    error => write({ id, error: { code: -32603, message: String(error) } }),
  )
}
