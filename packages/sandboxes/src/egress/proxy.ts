import { randomUUID } from 'node:crypto'
import { rename } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { type Network, openNetwork } from '@berth/platform/network/dial.ts'
import { PROXY_PORT } from '@berth/supervisor'
import type { SandboxEgress } from '../driver.ts'
import { assertReadable, edgePartsOf, refusalOfPlain } from './edge/edge-rules.ts'
import { Places } from './edge/places.ts'
import { createEgressPolicy } from './egress-policy.ts'
import { openTarget, type TargetRules } from './open-target.ts'
import { answerPlain, answerTunnel, type ProxyWays } from './proxy-answers.ts'
import type { TunnelBounds } from './proxy-tunnel.ts'
import { type ProxyPolicy, type ProxyTarget, plainTarget } from './reach-policy.ts'
import { RefusalLog } from './refusal-log.ts'
import { withShortPath } from './socket-directory.ts'

const MAX_HEADER_BYTES = 32 * 1024
/** A longer name of a program is left out whole: whoever shows it masks it first, and a cut before could halve a secret. */
const MAX_PROGRAM = 2000
const PLATFORM_PATHS = '/_berth/'
/** Maximum number of connections of a sandbox; more are closed at once. */
const MAX_CONNECTIONS = 512
/**
 * Of those, the ones that speak HTTP/2 at the edge; further ones speak HTTP/1.1. With the streams of each, both windows of
 * all that nobody reads are 128 MiB of the worker.
 */
const MAX_HTTP2 = 8
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

/** The targets that a proxy allows, and what else an egress says of them. */
export interface EgressRules
  extends Omit<SandboxEgress, 'reach' | 'publicHosts' | 'proxy' | 'isLent' | 'network' | 'observe'>,
    TargetRules {
  /** Leads connections to public hosts elsewhere; absent: this process dials them. */
  readonly through?: SandboxEgress['proxy']
}

/**
 * Returns the rules of a sandbox's proxy.
 * @throws TypeError if an entry of `reach` is not an origin
 */
export function rulesOf({
  reach,
  publicHosts,
  proxy,
  isLent = false,
  network: decider,
  ...rest
}: SandboxEgress): EgressRules {
  const policy = createEgressPolicy({ reach, publicHosts })
  return { ...rest, decider, policy, ...(isLent && proxy && { through: proxy }) }
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
  let rules: EgressRules = options
  const refusals = new RefusalLog(options.log, () => rules.masked)
  const http2 = new Places(MAX_HTTP2)
  const closing = new AbortController()
  let open = new AbortController()
  const refused = (target: ProxyTarget) => (reason: string) => refusals.add(target.host, target.port, reason)
  const ways: ProxyWays = {
    bounds,
    reach: (target, client, { headers }) =>
      openTarget(
        rules,
        target,
        {
          network,
          signal: AbortSignal.any([client, closing.signal, open.signal]),
          by: programOf(headers),
          refused: refused(target),
        },
        verdict => assertReadable(rules, target, verdict),
      ),
    edge(target) {
      const parts = edgePartsOf(rules, target, refused(target))
      return parts && { ...parts, bounds, http2, authorities: network.authorities }
    },
    through(target) {
      const verdict = rules.policy(target)
      // An origin that the operator named is one of this machine's network.
      return verdict.kind === 'allow' && verdict.how === 'named' ? undefined : rules.through
    },
    refusal: (incoming, target) => refusalOfPlain(rules, incoming, target, refused(target)),
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
      return answerPlain(incoming, outgoing, ways)
    }
    answer().catch((error: unknown) => {
      options.log.warn({ err: error }, 'a request from a sandbox failed')
      outgoing.destroy()
    })
  })
  server.on('connect', (incoming, client, head) => {
    answerTunnel(incoming, client, head, ways).catch((error: unknown) => {
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
      if (open.signal.aborted) open = new AbortController()
    },
    deny() {
      const { gateway, masked, service } = rules
      rules = {
        policy: denyAtRest,
        ...(gateway && { gateway }),
        ...(service && { service }),
        ...(masked && { masked }),
      }
      open.abort(new Error(AT_REST))
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

/** Returns what a program calls itself, if that is a name. */
function programOf({ 'user-agent': name }: IncomingHttpHeaders): string | undefined {
  return name !== undefined && name.length <= MAX_PROGRAM ? name : undefined
}

const AT_REST = 'no Run is active in this sandbox'

const denyAtRest: ProxyPolicy = () => ({ kind: 'deny', reason: AT_REST })

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
