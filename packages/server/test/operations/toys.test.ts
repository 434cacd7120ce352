import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { type GatewayService, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'

/** An agent of the Agent Client Protocol that only repeats its message. */
const toyAgent = `
import { createInterface } from 'node:readline'
const send = message => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
const answers = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: {} }),
  'session/new': () => ({ sessionId: 'toy' }),
  'session/prompt': ({ sessionId, prompt }) => {
    const content = { type: 'text', text: 'You said: ' + prompt.map(({ text }) => text ?? '').join('') }
    send({ method: 'session/update', params: { sessionId, update: { sessionUpdate: 'agent_message_chunk', content } } })
    return { stopReason: 'end_turn' }
  },
}
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (id !== undefined) send({ id, result: answers[method](params) })
}`

/** A provider of one model that only repeats its last message, whole, in OpenAI's Chat Completions. */
const toyProvider = createServer(async (request, response) => {
  const { messages } = (await json(request)) as { messages: { content: unknown }[] }
  const message = { role: 'assistant', content: `You said: ${JSON.stringify(messages.at(-1)?.content)}` }
  const usage = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 }
  const choices = [{ index: 0, message, finish_reason: 'stop' }]
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'echo', choices, usage }))
})

const stack = new AsyncDisposableStack()
let gateway: GatewayService
beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'berth-toy-'))
  stack.defer(() => rm(directory, { recursive: true }))
  await chmod(directory, 0o755)
  await writeFile(join(directory, 'agent.mjs'), toyAgent)
  await new Promise<void>(listening => toyProvider.listen(0, '127.0.0.1', listening))
  stack.defer(() => void toyProvider.close())
  const { port } = toyProvider.address() as AddressInfo
  gateway = stack.use(
    await startGatewayService({
      variables: { BERTH_ROLES: 'api,worker,gateway' },
      providers: [
        { id: 'toy', kind: 'openai-compatible', baseUrl: `http://127.0.0.1:${port}/v1`, models: [{ id: 'echo' }] },
      ],
      runtimes: [{ id: 'toy', command: ['node', join(directory, 'agent.mjs')], mounts: [directory] }],
    }),
  )
})
afterAll(() => stack.disposeAsync())

test('a runtime is added by an entry of the configuration alone', async () => {
  const { api } = gateway.test
  const { id, activeRunId: runId = '' } = await api.createSession({ runtime: 'toy' }, 'Hello, toy.')
  await api.runEnded(id, runId)
  const { status, result } = await api.run(id, runId)
  expect([status, result?.summary]).toEqual(['completed', expect.stringContaining('You said: Hello, toy.')])
})

test('a model provider is added by an entry of the configuration alone, in both formats of OpenAI', async () => {
  const chat = await gateway.openai.chat.completions.create({
    model: 'toy/echo',
    messages: [{ role: 'user', content: 'Hello, toy.' }],
  })
  expect(chat.choices[0]?.message.content).toBe('You said: "Hello, toy."')
  const response = await gateway.openai.responses.create({ model: 'toy/echo', input: 'Hello, toy.' })
  expect(response.output_text).toContain('Hello, toy.')
  await until('both requests in the ledger', async () => (await gateway.requests()).length === 2)
  expect(await gateway.requests()).toMatchObject([{ model: 'toy/echo' }, { model: 'toy/echo' }])
})
