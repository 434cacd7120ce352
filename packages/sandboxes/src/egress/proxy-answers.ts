import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { ForbiddenAddressError } from '@berth/platform/network/dial.ts'
import { DecidedAgainst, type OpenTarget } from './open-target.ts'
import { forwardRequest } from './proxy-forward.ts'
import { joinTunnel, type TunnelBounds } from './proxy-tunnel.ts'
import { type ProxyTarget, plainTarget, tunnelTarget } from './reach-policy.ts'

/** Opens the target of a request, unless it is refused. */
export type Reach = (target: ProxyTarget, client: AbortSignal, incoming: IncomingMessage) => Promise<OpenTarget>

/** Forwards a request whose line holds a whole URL, or says why not. */
export async function answerPlain(incoming: IncomingMessage, outgoing: ServerResponse, reach: Reach): Promise<void> {
  const left = abortedBy(outgoing)
  const plain = plainTarget(incoming.url ?? '')
  if (!plain)
    return refuse(incoming, outgoing, 400, 'this is a proxy: send CONNECT host:port, or a complete http:// URL')
  try {
    const { socket } = await reach(plain.target, left, incoming)
    await forwardRequest(incoming, outgoing, plain.target, plain.path, socket)
  } catch (error) {
    if (outgoing.headersSent || left.aborted) outgoing.destroy()
    else refuse(incoming, outgoing, ...faultOf(plain.target, error))
  }
}

/** Refuses a plain request with a status and a reason. */
export function refuse(incoming: IncomingMessage, outgoing: ServerResponse, status: number, text: string): void {
  // Reads and drops the rest of the body: closing while the client still writes would lose the answer.
  incoming.resume()
  outgoing.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' })
  outgoing.end(`${text}\n`)
}

/** Opens a tunnel, or says why not. */
export async function answerTunnel(
  incoming: IncomingMessage,
  client: Duplex,
  head: Buffer,
  reach: Reach,
  bounds: TunnelBounds,
): Promise<void> {
  client.on('error', () => client.destroy())
  const target = tunnelTarget(incoming.url ?? '')
  if (!target) return refuseTunnel(client, 400, 'CONNECT needs host:port')
  const left = abortedBy(client)
  try {
    const { socket } = await reach(target, left, incoming)
    client.write('HTTP/1.1 200 Connection established\r\n\r\n')
    joinTunnel(client, socket, head, bounds)
  } catch (error) {
    if (left.aborted) client.destroy()
    else refuseTunnel(client, ...faultOf(target, error))
  }
}

function refuseTunnel(client: Duplex, status: number, text: string): void {
  const body = `${text}\n`
  const reason = status === 403 ? 'Forbidden' : status === 400 ? 'Bad Request' : 'Bad Gateway'
  client.resume()
  client.end(
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: text/plain; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}

function faultOf(target: ProxyTarget, error: unknown): readonly [status: number, text: string] {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof ForbiddenAddressError) return [403, `refused by the sandbox's proxy: ${message}`]
  if (error instanceof DecidedAgainst) return [403, message]
  return [502, `could not reach ${target.host}:${target.port}: ${message}`]
}

/** Returns a signal that aborts when the client leaves. */
function abortedBy(client: Duplex | ServerResponse): AbortSignal {
  const controller = new AbortController()
  client.once('close', () => controller.abort(new Error('the client left')))
  return controller.signal
}
