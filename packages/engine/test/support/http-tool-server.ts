import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { toolServer } from './tool-server.ts'

export interface HttpToolServer extends AsyncDisposable {
  readonly url: string
  readonly requests: readonly IncomingHttpHeaders[]
}

/** Serves the same tools over HTTP on loopback. The response to a call of `refuse` ends before any message. */
export async function startHttpToolServer(legacy: 'stateless' | 'reject' = 'stateless'): Promise<HttpToolServer> {
  const handler = createMcpHandler(toolServer, { legacy })
  const requests: IncomingHttpHeaders[] = []
  const server = createServer(async (incoming, outgoing) => {
    requests.push(incoming.headers)
    const { method = 'GET', url = '/' } = incoming
    const request = await buffer(incoming)
    if (request.includes('"refuse"'))
      return void outgoing.writeHead(200, { 'content-type': 'text/event-stream' }).end(': \n\n')
    const body = method === 'POST' ? { body: new Uint8Array(request) } : {}
    const headers = new Headers(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]))
    const response = await handler.fetch(new Request(new URL(url, 'http://127.0.0.1'), { method, headers, ...body }))
    outgoing.writeHead(response.status, Object.fromEntries(response.headers))
    if (response.body === null) outgoing.end()
    else await pipeline(Readable.fromWeb(response.body as never), outgoing).catch(() => undefined)
  })
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(0, '127.0.0.1', resolve)
  await listening
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    requests,
    async [Symbol.asyncDispose]() {
      const { promise: closed, resolve: done } = Promise.withResolvers<void>()
      server.close(() => done())
      server.closeAllConnections()
      await closed
    },
  }
}
