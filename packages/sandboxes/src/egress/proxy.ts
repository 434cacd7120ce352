import { randomUUID } from 'node:crypto'
import { rename } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { ForbiddenAddressError, type Network, openNetwork } from '@berth/platform/network/dial.ts'
import { PROXY_PORT } from '@berth/supervisor'
import type { SandboxService } from '../driver.ts'
import { dialTarget } from './dial-target.ts'
import { forwardRequest } from './proxy-forward.ts'
import { joinTunnel, type TunnelBounds } from './proxy-tunnel.ts'
import { type ProxyPolicy, type ProxyTarget, plainTarget, tunnelTarget } from './reach-policy.ts'
import { RefusalLog } from './refusal-log.ts'
import { withShortPath } from './socket-directory.ts'

const DIAL_TIMEOUT_MS = 10_000
const MAX_HEADER_BYTES = 32 * 1024
const PLATFORM_PATHS = '/_berth/'
/** Maximum number of connections of a sandbox; more are closed at once. */
const MAX_CONNECTIONS = 512
/**
 * Models may think, and agents watch a connection, for a long time. The limits exceed both, and the life of most
 * sandboxes.
 */
const defaultBounds: TunnelBounds = { idleMs: 15 * 60_000, lifeMs: 4 * 60 * 60_000 }

/** The only way out of one sandbox. */
export interface EgressProxy extends AsyncDisposable {
  /** Replaces the rules for all further requests; open tunnels remain. */
  allow(rules: EgressRules): void
  /**
   * Refuses every target until `allow` is called again, and closes all connections. The gateway and the worker's service
   * refuse their own requests meanwhile.
   */
  deny(): void
}

/** The targets that a proxy allows. */
export interface EgressRules {
  readonly policy: ProxyPolicy
  /** Absent: the proxy forwards no requests to a gateway. */
  readonly gateway?: SandboxService | undefined
  /** Absent: the proxy has no paths of the platform. */
  readonly service?: SandboxService | undefined
}

export interface EgressProxyOptions extends EgressRules {
  readonly log: { warn(fields: object, message: string): void }
  readonly network?: Network | undefined
  readonly bounds?: TunnelBounds
}

/** A proxy without a socket of its own. */
export interface OpenEgressProxy extends EgressProxy {
  /** Serves one connection of the sandbox. */
  take(connection: Duplex): void
}

/** Where a proxy listens. */
export interface ProxySocket {
  /** Directory of the socket; the sandbox sees a read-only view of it. */
  readonly dir: string
  /** Name of the socket. */
  readonly name: string
}

/**
 * Serves a sandbox's proxy at a socket, which gets its name by a rename. It replaces the socket of a dead or dying process
 * without a gap.
 */
export async function serveEgressProxy({
  dir,
  name,
  ...options
}: EgressProxyOptions & ProxySocket): Promise<EgressProxy> {
  const { server, proxy } = makeProxy(options)
  await listenAt(server, dir, name)
  return proxy
}

/** Opens a proxy whose connections come from elsewhere. */
export const openEgressProxy = (options: EgressProxyOptions): OpenEgressProxy => makeProxy(options).proxy

/**
 * Makes a sandbox's proxy: `CONNECT`, and plain requests whose line holds a whole URL. It asks the policy before it
 * resolves a name or dials an address. A request whose line holds only a path is for the model gateway, or below
 * `/_berth/` for the worker itself.
 */
function makeProxy(options: EgressProxyOptions): { readonly server: Server; readonly proxy: OpenEgressProxy } {
  const { network = openNetwork(), bounds = defaultBounds } = options
  const refusals = new RefusalLog(options.log)
  const closing = new AbortController()
  let rules: EgressRules = options
  const reach = async (target: ProxyTarget, client: AbortSignal) => {
    const verdict = rules.policy(target)
    try {
      if (verdict.kind === 'deny') throw new ForbiddenAddressError(verdict.reason)
      const signal = AbortSignal.any([client, closing.signal, AbortSignal.timeout(DIAL_TIMEOUT_MS)])
      return await dialTarget(network, target, verdict, signal)
    } catch (error) {
      if (error instanceof ForbiddenAddressError) refusals.add(target.host, target.port, error.message)
      throw error
    }
  }
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: 0 })
  server.maxConnections = MAX_CONNECTIONS
  server.timeout = bounds.idleMs
  const sockets = new Set<Duplex>()
  server.on('connection', socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('request', (incoming, outgoing) => {
    const life = setTimeout(() => outgoing.destroy(), bounds.lifeMs)
    outgoing.once('close', () => clearTimeout(life))
    const own = ownTarget(incoming.url ?? '')
    const answer = () => {
      if (own?.startsWith(PLATFORM_PATHS) && rules.service) return rules.service.answer(incoming, outgoing, own)
      if (own !== undefined && rules.gateway) return rules.gateway.answer(incoming, outgoing, own)
      return answerPlain(incoming, outgoing, reach)
    }
    answer().catch((error: unknown) => {
      options.log.warn({ err: error }, 'a request from a sandbox failed')
      outgoing.destroy()
    })
  })
  server.on('connect', (incoming, client, head) => {
    answerTunnel(incoming, client, head, reach, bounds).catch((error: unknown) => {
      options.log.warn({ err: error }, 'a tunnel from a sandbox failed')
      client.destroy()
    })
  })
  const closeAll = () => {
    // The server no longer closes sockets that were handed to a tunnel.
    for (const socket of sockets) socket.destroy()
  }
  const proxy: OpenEgressProxy = {
    take(connection) {
      if (closing.signal.aborted || sockets.size >= MAX_CONNECTIONS) connection.destroy()
      else server.emit('connection', connection)
    },
    allow(next) {
      rules = next
    },
    deny() {
      rules = { ...rules, policy: denyAtRest }
      closeAll()
    },
    async [Symbol.asyncDispose]() {
      closing.abort()
      const { promise, resolve } = Promise.withResolvers<void>()
      server.close(() => resolve())
      closeAll()
      await promise
    },
  }
  return { server, proxy }
}

const denyAtRest: ProxyPolicy = () => ({ kind: 'deny', reason: 'no Run is active in this sandbox' })

type Reach = (target: ProxyTarget, client: AbortSignal) => ReturnType<typeof dialTarget>

/**
 * Returns path and query of a request for the gateway: either a bare path, or a URL of the proxy itself, from a client
 * that sends every URL to a proxy.
 */
function ownTarget(line: string): string | undefined {
  if (line.startsWith('/')) return line
  const plain = plainTarget(line)
  const own = plain?.target.port === PROXY_PORT && ['127.0.0.1', 'localhost', '[::1]'].includes(plain.target.host)
  return own ? plain.path : undefined
}

async function answerPlain(incoming: IncomingMessage, outgoing: ServerResponse, reach: Reach): Promise<void> {
  const left = abortedBy(outgoing)
  const plain = plainTarget(incoming.url ?? '')
  if (!plain)
    return refuse(incoming, outgoing, 400, 'this is a proxy: send CONNECT host:port, or a complete http:// URL')
  try {
    const upstream = await reach(plain.target, left)
    await forwardRequest(incoming, outgoing, plain.target, plain.path, upstream)
  } catch (error) {
    if (outgoing.headersSent || left.aborted) outgoing.destroy()
    else refuse(incoming, outgoing, ...faultOf(plain.target, error))
  }
}

function refuse(incoming: IncomingMessage, outgoing: ServerResponse, status: number, text: string): void {
  // Reads and drops the rest of the body: closing while the client still writes would lose the answer.
  incoming.resume()
  outgoing.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' })
  outgoing.end(`${text}\n`)
}

async function answerTunnel(
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
    const upstream = await reach(target, left)
    client.write('HTTP/1.1 200 Connection established\r\n\r\n')
    joinTunnel(client, upstream, head, bounds)
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
  return [502, `could not reach ${target.host}:${target.port}: ${message}`]
}

/** Returns a signal that aborts when the client leaves. */
function abortedBy(client: Duplex | ServerResponse): AbortSignal {
  const controller = new AbortController()
  client.once('close', () => controller.abort(new Error('the client left')))
  return controller.signal
}

async function listenAt(server: Server, dir: string, name: string): Promise<void> {
  await withShortPath(dir, async short => {
    const fresh = `${name}.${randomUUID().slice(0, 8)}`
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    server.once('error', reject)
    // The sandbox's uid differs from the service's, and only that sandbox sees the directory.
    server.listen({ path: short(fresh), readableAll: true, writableAll: true }, resolve)
    await promise
    server.off('error', reject)
    await rename(join(dir, fresh), join(dir, name))
  })
}
