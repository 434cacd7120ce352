import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentContext } from '@agentclientprotocol/sdk'
import type { Environment } from '../environment.ts'
import { EngineSession } from './engine-session.ts'

const MODEL = 'rehearsal'

/** Nobody hears what a rehearsal says. */
const nobody = { notify: async () => undefined, request: async () => ({}) }

/**
 * Holds one conversation of one prompt with itself, and leaves nothing of it. The first prompt of a process compiles most of
 * what a prompt needs: 190 ms to its request to the model, where the second takes 35 (measured).
 */
export async function rehearse(environment: Environment): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'berth-'))
  const server = createServer((request, response) => {
    request.resume()
    if (request.method === 'POST') answer(response)
    else response.end(JSON.stringify({ object: 'list', data: [{ id: MODEL, object: 'model' }] }))
  }).listen(0, '127.0.0.1')
  try {
    await once(server, 'listening')
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : 0
    const cwd = join(directory, 'workspace')
    mkdirSync(cwd)
    const session = EngineSession.create({
      id: randomUUID(),
      cwd,
      mcpServers: [],
      client: nobody as unknown as AgentContext,
      capabilities: {},
      environment: {
        ...environment,
        gatewayUrl: `http://127.0.0.1:${port}/v1`,
        sessionsDir: join(directory, 'home', 'sessions'),
      },
    })
    const prompt = [{ type: 'text', text: MODEL }] as const
    await session.prompt({ sessionId: MODEL, prompt: [...prompt], _meta: { berth: { model: MODEL } } })
    await session.close()
  } finally {
    server.close()
    server.closeAllConnections()
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Streams a reply of one word. */
function answer(response: ServerResponse): void {
  const item = { id: 'msg_1', type: 'message', role: 'assistant' }
  const part = { type: 'output_text', text: MODEL, annotations: [] }
  const message = { ...item, status: 'completed', content: [part] }
  const usage = {
    input_tokens: 1,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 1,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 2,
  }
  const at = { item_id: item.id, output_index: 0, content_index: 0 }
  const events = [
    { type: 'response.created', response: { id: 'resp_1', status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
    { ...at, type: 'response.content_part.added', part: { ...part, text: '' } },
    { ...at, type: 'response.output_text.delta', delta: MODEL },
    { ...at, type: 'response.output_text.done', text: MODEL },
    { ...at, type: 'response.content_part.done', part },
    { type: 'response.output_item.done', output_index: 0, item: message },
    { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [message], usage } },
  ]
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const [sequence_number, event] of events.entries()) {
    response.write(`event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`)
  }
  response.end()
}
