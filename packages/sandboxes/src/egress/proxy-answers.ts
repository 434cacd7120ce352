import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { ForbiddenAddressError } from '@berth/platform/network/dial.ts'
import type { SandboxEgress } from '../driver.ts'
import { bodyOf, type Refusal } from './edge/edge.ts'
import { type EdgeParts, endTls } from './edge/end-tls.ts'
import { DecidedAgainst, type OpenTarget } from './open-target.ts'
import { forwardRequest } from './proxy-forward.ts'
import { passPlain, passTunnel } from './proxy-through.ts'
import { joinTunnel, type TunnelBounds } from './proxy-tunnel.ts'
import { type ProxyTarget, plainTarget, tunnelTarget } from './reach-policy.ts'

/** What all requests of a sandbox's proxy go by. */
export interface ProxyWays {
  readonly bounds: TunnelBounds
  /** Opens the target of a request, unless it is refused. */
  reach(target: ProxyTarget, client: AbortSignal, incoming: IncomingMessage): Promise<OpenTarget>
  /** Returns what leads connections to a target elsewhere, where they are judged; undefined: this process judges them. */
  through(target: ProxyTarget): SandboxEgress['proxy']
  /** Returns what is needed to read a tunnel; undefined if nobody does. */
  edge(target: ProxyTarget): EdgeParts | undefined
  /** Returns why a plain request is refused before its target is opened; undefined if it is not. */
  refusal(incoming: IncomingMessage, target: ProxyTarget): Refusal | undefined
}

/** Forwards a request whose line holds a whole URL, or says why not. */
export async function answerPlain(incoming: IncomingMessage, outgoing: ServerResponse, ways: ProxyWays): Promise<void> {
  const left = abortedBy(outgoing)
  const plain = plainTarget(incoming.url ?? '')
  if (!plain)
    return refuse(incoming, outgoing, 400, 'this is a proxy: send CONNECT host:port, or a complete http:// URL')
  const refusal = ways.refusal(incoming, plain.target)
  if (refusal) return refuse(incoming, outgoing, refusal.status, bodyOf(refusal).toString(), 'application/json')
  try {
    const through = ways.through(plain.target)
    if (through) return await passPlain(incoming, outgoing, await through(left))
    const { socket } = await ways.reach(plain.target, left, incoming)
    await forwardRequest(incoming, outgoing, plain.target, plain.path, socket)
  } catch (error) {
    if (outgoing.headersSent || left.aborted) outgoing.destroy()
    else refuse(incoming, outgoing, ...faultOf(plain.target, error))
  }
}

function refuse(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  status: number,
  text: string,
  type = 'text/plain; charset=utf-8',
): void {
  // Reads and drops the rest of the body: closing while the client still writes would lose the answer.
  incoming.resume()
  outgoing.writeHead(status, { 'Content-Type': type })
  outgoing.end(text.endsWith('\n') ? text : `${text}\n`)
}

/** Opens a tunnel, or says why not. A tunnel to a host that a secret names is read. */
export async function answerTunnel(
  incoming: IncomingMessage,
  client: Duplex,
  head: Buffer,
  ways: ProxyWays,
): Promise<void> {
  client.on('error', () => client.destroy())
  const target = tunnelTarget(incoming.url ?? '')
  if (!target) return refuseTunnel(client, 400, 'CONNECT needs host:port')
  const left = abortedBy(client)
  try {
    const through = ways.through(target)
    if (through) return passTunnel(incoming, client, head, await through(left))
    const { socket } = await ways.reach(target, left, incoming)
    client.write('HTTP/1.1 200 Connection established\r\n\r\n')
    const edge = ways.edge(target)
    if (edge === undefined) joinTunnel(client, socket, head, ways.bounds)
    else await endTls(client, socket, head, edge)
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
