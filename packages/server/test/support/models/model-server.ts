import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

/** A tool that the model asks for. */
export interface ToolCall {
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
}

/** What the model says to one request: text, tool calls, or text and then tool calls. */
export interface ModelReply {
  readonly text?: string
  readonly calls?: readonly ToolCall[]
  /** What it thinks first, and the provider's seal on it, where the wire has such. */
  readonly thinking?: { readonly text: string; readonly signature: string }
  /** It was stopped by the token limit. */
  readonly cut?: boolean
}

/** A request as it came. */
export interface ModelRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
}

/** How a provider's API puts a reply. */
export interface WireFormat {
  /** Whether this is a request for a reply, as opposed to whatever else clients of the API ask for. */
  asksForReply(request: ModelRequest): boolean
  /** Writes the reply whole, in the form that the request asks for. */
  write(reply: ModelReply, request: ModelRequest, response: ServerResponse): void
}

/** A model whose every word is scripted, served on loopback in a provider's wire format. */
export interface ModelServer extends AsyncDisposable {
  readonly origin: string
  /** Requests that were answered from the script, in order. */
  readonly requests: readonly ModelRequest[]
  /** Requests that the script had no answer to; they were refused. */
  readonly unexpected: readonly ModelRequest[]
  /** Adds replies to the end of the script; each answers one request. */
  script(...replies: readonly ModelReply[]): void
}

export async function startModelServer(wire: WireFormat): Promise<ModelServer> {
  const script: ModelReply[] = []
  const requests: ModelRequest[] = []
  const unexpected: ModelRequest[] = []
  const server = createServer(async (incoming, response) => {
    const { method = '', url: path = '', headers } = incoming
    const body = await json(incoming).catch(() => null)
    const request = { method, path, headers, body }
    const reply = wire.asksForReply(request) ? script.shift() : undefined
    if (reply === undefined) {
      unexpected.push(request)
      // No status that clients try again on.
      response.writeHead(400, { 'content-type': 'text/plain' }).end('the script has no answer to this\n')
      return
    }
    requests.push(request)
    wire.write(reply, request, response)
  })
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(0, '127.0.0.1', resolve)
  await listening
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    unexpected,
    script: (...replies) => void script.push(...replies),
    async [Symbol.asyncDispose]() {
      const { promise: closed, resolve: done } = Promise.withResolvers<void>()
      server.close(() => done())
      server.closeAllConnections()
      await closed
    },
  }
}
