import { type ClientRequest, request as httpRequest, type IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream'
import { answerHeaders, requestHeaders } from './forward-headers.ts'
import { refusals, sendRefusal } from './refusals.ts'

/** The port that a request goes on to, and a connection to it. */
interface Target {
  readonly port: number
  readonly stream: Duplex
  readonly secure: boolean
}

/** How long a port may think about a WebSocket: meanwhile nobody notices that the browser left. */
const HANDSHAKE_MS = 30_000

/** Passes a request on to the port and its answer back, as streams. */
export function forwardRequest(incoming: IncomingMessage, response: ServerResponse, target: Target): void {
  // Without its framing, a body would be bytes behind the request.
  const isChunked = incoming.headers['transfer-encoding'] !== undefined
  const outgoing = ask(incoming, response, target, isChunked ? { 'transfer-encoding': 'chunked' } : {})
  outgoing.on('upgrade', (_, stream) => stream.destroy())
  incoming.on('error', () => outgoing.destroy())
  incoming.pipe(outgoing)
}

/**
 * Passes a request for a WebSocket on. Only if the port switches protocols are the two connections joined: behind any
 * other answer a proxy in front would go on to use its connection for other people's requests.
 */
export function forwardUpgrade(incoming: IncomingMessage, head: Buffer, target: Target): void {
  const { socket } = incoming
  const response = closingResponse(incoming)
  const { upgrade } = incoming.headers
  const outgoing = ask(incoming, response, target, { connection: 'Upgrade', ...(upgrade !== undefined && { upgrade }) })
  const late = setTimeout(() => outgoing.destroy(), HANDSHAKE_MS)
  outgoing.once('response', () => clearTimeout(late)).once('close', () => clearTimeout(late))
  outgoing.on('upgrade', (answer, stream, first) => {
    try {
      response.writeHead(101, { ...answerHeaders(answer), connection: 'Upgrade', upgrade: answer.headers.upgrade })
      response.flushHeaders()
    } catch {
      stream.destroy()
      return
    }
    response.detachSocket(socket)
    if (first.length > 0) stream.unshift(first)
    if (head.length > 0) stream.write(head)
    pipeline(socket, stream, () => stream.destroy())
    pipeline(stream, socket, () => socket.destroy())
  })
  outgoing.end()
}

/** Returns a response on the connection of an upgrade, which ends with it. */
export function closingResponse(incoming: IncomingMessage): ServerResponse {
  const { socket } = incoming
  const response = new ServerResponse(incoming)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  // The server watches over its connections until they are upgraded.
  const drained = () => response.emit('drain')
  socket.on('drain', drained)
  response.once('finish', () => {
    socket.off('drain', drained)
    response.detachSocket(socket)
    socket.end()
    socket.resume()
  })
  return response
}

/** Starts a request to the port. Whatever comes back is answered with, or else a refusal. */
function ask(
  incoming: IncomingMessage,
  response: ServerResponse,
  target: Target,
  own: Readonly<Record<string, string>>,
): ClientRequest {
  response.once('close', () => target.stream.destroy())
  const outgoing = httpRequest({
    // Without an agent, not even `false`: an agent would make connections of its own.
    createConnection: () => target.stream,
    method: incoming.method ?? 'GET',
    path: incoming.url ?? '/',
    headers: { ...requestHeaders(incoming.headers, target), ...own },
  })
  outgoing.on('response', answer => {
    try {
      passAnswer(answer, response)
      pipeline(answer, response, () => outgoing.destroy())
    } catch {
      // A program in the sandbox chose the status and the headers, and Node throws at some of them.
      outgoing.destroy()
    }
  })
  const refuse = () => {
    if (response.destroyed || response.writableEnded) return
    if (response.headersSent) response.destroy()
    else sendRefusal(response, refusals.failed)
  }
  outgoing.on('error', refuse)
  outgoing.on('close', () => {
    if (!response.headersSent) refuse()
  })
  return outgoing
}

function passAnswer(answer: IncomingMessage, response: ServerResponse): void {
  const status = answer.statusCode ?? 0
  if (status < 200 || status > 599) throw new RangeError('not a final status')
  response.writeHead(status, answerHeaders(answer))
}
