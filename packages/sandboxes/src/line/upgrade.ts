import { addAbortListener } from 'node:events'
import { type IncomingMessage, request as plainRequest } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { Duplex } from 'node:stream'

/** Path at which a service takes hosts. */
export const HOSTS_PATH = '/hosts/connect'
/** Names the protocol behind the upgrade, with its version. */
export const PROTOCOL = 'berth-host/1'

/** The service has refused the host, and says why. */
export class LineRefused extends Error {
  override readonly name = 'LineRefused'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** A socket that speaks the line's protocol from here on. */
export interface Upgraded {
  readonly socket: Duplex
  readonly headers: IncomingMessage['headers']
}

const MAX_REFUSAL_BYTES = 4096

/**
 * Dials a service.
 * @param headers besides those of the upgrade
 * @throws LineRefused if it answers something else; the error of the connection; the signal's reason
 */
export async function dialLine(
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Upgraded> {
  signal.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<Upgraded>()
  const send = url.protocol === 'https:' ? secureRequest : plainRequest
  const upgrade = { Connection: 'Upgrade', Upgrade: PROTOCOL }
  const sent = send(new URL(HOSTS_PATH, url), {
    agent: false,
    headers: { ...headers, ...upgrade },
    maxHeaderSize: 16_384,
  })
  using _listener = addAbortListener(signal, () =>
    sent.destroy(signal.reason instanceof Error ? signal.reason : new Error('aborted')),
  )
  sent.once('error', reject)
  sent.once('upgrade', (response, socket, head) => {
    socket.setTimeout(0)
    if (head.length > 0) socket.unshift(head)
    resolve({ socket, headers: response.headers })
  })
  sent.once('response', response => {
    readRefusal(response).then(reason => reject(new LineRefused(response.statusCode ?? 0, reason)), reject)
  })
  sent.end()
  return await promise
}

async function readRefusal(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const part of response.setEncoding('utf8')) {
    text += part
    if (text.length > MAX_REFUSAL_BYTES) break
  }
  return text.slice(0, MAX_REFUSAL_BYTES).trim()
}

/** Takes a host's upgrade; the socket then speaks the line's protocol. */
export function takeUpgrade(socket: Duplex, head: Buffer, headers: Readonly<Record<string, string>>): void {
  const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${PROTOCOL}\r\n${more.join('')}\r\n`,
  )
  if (head.length > 0) socket.unshift(head)
}

/** Refuses a host's upgrade in words for the person who runs it. */
export function refuseUpgrade(socket: Duplex, status: number, reason: string): void {
  const body = `${reason}\n`
  socket.end(
    `HTTP/1.1 ${status} Refused\r\nContent-Type: text/plain; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}
