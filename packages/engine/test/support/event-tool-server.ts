import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

export interface EventToolServer extends AsyncDisposable {
  readonly url: string
}

/**
 * Starts a server of the oldest HTTP kind: it sends messages on one event stream, and the client posts its own. The
 * tool `here` answers; a call of `gone` breaks the stream off.
 */
export async function startEventToolServer(): Promise<EventToolServer> {
  let stream: ServerResponse | null = null
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') {
      stream = response.writeHead(200, { 'content-type': 'text/event-stream' })
      stream.write('event: endpoint\ndata: /messages\n\n')
      return
    }
    const { id, method, params } = (await json(request)) as { id?: number; method: string; params?: never }
    response.writeHead(202).end()
    const { name = '', protocolVersion = '' } = (params ?? {}) as { name?: string; protocolVersion?: string }
    if (name === 'gone') return void stream?.destroy()
    const tools = ['here', 'gone'].map(tool => ({ name: tool, inputSchema: { type: 'object' } }))
    const results: Record<string, object> = {
      initialize: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'events', version: '1' } },
      'tools/list': { tools },
      'tools/call': { content: [{ type: 'text', text: 'here' }] },
    }
    const result = results[method]
    if (result !== undefined) stream?.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`)
  })
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(0, '127.0.0.1', resolve)
  await listening
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/sse`,
    async [Symbol.asyncDispose]() {
      const { promise: closed, resolve: done } = Promise.withResolvers<void>()
      server.close(() => done())
      server.closeAllConnections()
      await closed
    },
  }
}
