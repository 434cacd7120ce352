// A scripted model on loopback, in its own process. It answers each user message with the given number of calls of one
// tool, one after the other and each after the same delay, and then with a text. It speaks both of OpenAI's formats.
// Arguments: the number of calls, the delay in milliseconds, and the call as JSON.
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { openaiWire } from '../../packages/testing/src/models/openai-wire.ts'

const [steps = 20, delayMs = 30] = process.argv.slice(2, 4).map(Number)
const call = JSON.parse(process.argv[4] ?? '{"name":"bash","args":{}}')

interface Body {
  readonly messages?: readonly { role?: string }[]
  readonly input?: readonly { role?: string; type?: string }[]
  readonly tools?: readonly unknown[]
}

/** Returns the number of tool results since the last user message. */
function stepsDone({ messages, input }: Body): number {
  const items = messages ?? input ?? []
  const last = items.findLastIndex(item => item.role === 'user')
  return items
    .slice(last + 1)
    .filter(item => item.role === 'tool' || ('type' in item && item.type === 'function_call_output')).length
}

const server = createServer(async (request, response) => {
  const { method = '', url: path = '', headers } = request
  const body = method === 'POST' ? ((await json(request)) as Body) : null
  const received = { method, path, headers, body }
  if (body === null || !openaiWire.asksForReply(received)) {
    const model = { id: 'main/m1', object: 'model', created: 0, owned_by: 'bench' }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ object: 'list', data: [model] }))
    return
  }
  await sleep(delayMs)
  const works = (body.tools?.length ?? 0) > 0 && stepsDone(body) < steps
  openaiWire.write(works ? { calls: [call] } : { text: 'All steps are done.' }, received, response)
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`)
})
