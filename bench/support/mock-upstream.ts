// A provider on loopback, as a process of its own: a small completion at once or, where a stream is asked for, 50 chunks
// of Chat Completions, one every 20 ms, each with the time at which it was written.
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const frames = Number(process.argv[2] ?? 50)
const gapMs = Number(process.argv[3] ?? 20)
const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 }
const message = { role: 'assistant', content: 'Hello there, how may I help?', refusal: null }
const whole = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'm1',
  choices: [{ index: 0, message, finish_reason: 'stop', logprobs: null }],
  usage,
})
const chunk = (choices: unknown[], more: object = {}) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm1', choices, ...more })}\n\n`
const now = () => performance.timeOrigin + performance.now()

const server = createServer((request, response) => {
  let body = ''
  request.on('data', part => {
    body += part
  })
  request.on('end', async () => {
    if (!body.includes('"stream":true')) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(whole)
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let n = 0; n < frames; n += 1) {
      response.write(chunk([{ index: 0, delta: { content: `at ${now()} ` }, finish_reason: null }]))
      await sleep(gapMs)
    }
    response.write(chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]))
    response.write(chunk([], { usage }))
    response.end('data: [DONE]\n\n')
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`)
})
