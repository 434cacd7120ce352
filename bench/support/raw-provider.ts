// A provider on loopback. It answers with a small completion, or Anthropic's message, at once. For a stream it sends 50
// chunks of Chat Completions, one every 20 ms, each with the time of its write. Everything but the times is prepared.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { rawMessage, serveRaw } from './raw-http.ts'

export const framesOfStream = 50
const gapMs = 20
const text = 'Hello there, how may I help?'
const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 }
const message = { role: 'assistant', content: text, refusal: null }

const json = (body: object) =>
  rawMessage('HTTP/1.1 200 OK', { 'content-type': 'application/json' }, JSON.stringify(body))
const completion = json({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'm1',
  choices: [{ index: 0, message, finish_reason: 'stop', logprobs: null }],
  usage,
})
const anthropicMessage = json({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm1',
  content: [{ type: 'text', text }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 10 },
})

const streamHead = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
const chunked = (part: string) => `${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`
const frame = (choices: unknown[], more: object = {}) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm1', choices, ...more })}\n\n`
const [before = '', after = ''] = frame([{ index: 0, delta: { content: '@' }, finish_reason: null }]).split('@')
const finish = frame([{ index: 0, delta: {}, finish_reason: 'stop' }]) + frame([], { usage })
const streamEnd = `${chunked(`${finish}data: [DONE]\n\n`)}0\r\n\r\n`

/** Milliseconds since the epoch, with the same clock in every process of a bench. */
export const nowMs = () => performance.timeOrigin + performance.now()

/** Listens on a free port. @returns the provider's origin */
export async function startRawProvider(): Promise<{ readonly origin: string } & Disposable> {
  const server = serveRaw((path, request, socket) => {
    if (request.includes('"stream":true')) pace(socket)
    else socket.write(path.endsWith('/messages') ? anthropicMessage : completion)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : ''
  return { origin: `http://127.0.0.1:${port}`, [Symbol.dispose]: () => void server.close() }
}

function pace(socket: Socket): void {
  let written = 0
  const write = () => {
    const head = written === 0 ? streamHead : ''
    socket.write(head + chunked(`${before}at ${nowMs()} ${after}`))
    written += 1
    setTimeout(written < framesOfStream ? write : () => socket.write(streamEnd), gapMs)
  }
  write()
}
