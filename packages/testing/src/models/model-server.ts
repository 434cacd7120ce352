import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

/** A tool call that the model makes. */
export interface ToolCall {
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
}

/** The model's reply to one request: text, tool calls, or text and then tool calls. */
export interface ModelReply {
  readonly text?: string
  readonly calls?: readonly ToolCall[]
  /** The reasoning before the reply, and the provider's signature if the format has one. */
  readonly thinking?: { readonly text: string; readonly signature: string }
  /** True if the token limit cut the reply off. */
  readonly cut?: boolean
}

/** A request as it arrived. */
export interface ModelRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
}

/** Writes replies in a provider's format. */
export interface WireFormat {
  /** Returns true if the request asks for a reply; clients of the API also send others. */
  asksForReply(request: ModelRequest): boolean
  /** Writes the complete reply in the form that the request asks for. */
  write(reply: ModelReply, request: ModelRequest, response: ServerResponse): void
}

/** A model with scripted replies, served on loopback in a provider's wire format. */
export interface ModelServer extends AsyncDisposable {
  readonly origin: string
  /** Requests that the script answered, in order. */
  readonly requests: readonly ModelRequest[]
  /** Requests that the script had no reply to; the server refused them. */
  readonly unexpected: readonly ModelRequest[]
  /** Appends replies to the script; each answers one request. */
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
      // Not a status on which clients retry.
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
