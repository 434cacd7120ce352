import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createServer, type SecureContext, type TLSSocket } from 'node:tls'
import type { EgressSecret, EgressTarget, LeaseAuthority } from '../../driver.ts'
import type { TunnelBounds } from '../proxy-tunnel.ts'
import { NotTls, readClientHello } from './client-hello.ts'
import { type EdgeEvents, openEdge } from './edge.ts'
import type { Places } from './places.ts'
import { serveHttp1 } from './serve-http1.ts'
import { serveHttp2 } from './serve-http2.ts'
import { secureUpstream, trustOf, UpstreamUntrusted } from './upstream-tls.ts'

/** Time for the hello, and for each handshake. */
const HANDSHAKE_MS = 15_000
/** The protocols that the proxy reads, the one that both sides like more first. */
const known = ['h2', 'http/1.1']

/** What a connection to a host that secrets name needs. */
export interface EdgeParts {
  readonly target: EgressTarget
  readonly secrets: readonly EgressSecret[]
  readonly authority: LeaseAuthority
  readonly events: EdgeEvents
  readonly bounds: TunnelBounds
  /** Bounds the sandbox's connections that speak HTTP/2. */
  readonly http2: Places
  /** Authorities in PEM that hosts are proven by; absent: those of Node and of this system. */
  readonly authorities?: readonly string[] | undefined
}

/**
 * Ends a client's TLS and begins it anew with the host, so that requests can be read in between. The host is proven before
 * the client hears of it, and the client speaks the version of HTTP that the host has chosen from the client's own. So
 * no request is translated. If the host is not proven, every request is answered with the reason.
 */
export async function endTls(
  client: Duplex,
  upstream: Socket,
  head: Buffer,
  { target, secrets, authority, events, bounds, http2, authorities }: EdgeParts,
): Promise<void> {
  const { host } = target
  const over = new AbortController()
  const endBoth = () => {
    over.abort(new Error('the connection has ended'))
    client.destroy()
    upstream.destroy()
  }
  const life = setTimeout(endBoth, bounds.lifeMs)
  // Its own counters: neither socket has timers of its own while TLS reads and writes it.
  let seen = -1
  const idle = setInterval(() => {
    const now = upstream.bytesRead + upstream.bytesWritten
    if (now === seen) endBoth()
    seen = now
  }, bounds.idleMs)
  upstream.on('error', () => undefined)
  client.once('close', () => {
    clearTimeout(life)
    clearInterval(idle)
    endBoth()
  })
  try {
    const within = AbortSignal.any([over.signal, AbortSignal.timeout(HANDSHAKE_MS)])
    const hello = await readClientHello(client, head, within)
    if (hello.serverName?.replace(/\.$/, '') !== host) {
      // Whole: whoever tells it masks it before a cut.
      events.refused('policy', `a connection to ${host} whose TLS names ${hello.serverName ?? 'no host'}`)
      client.end(unrecognizedName, endBoth)
      return
    }
    const leave = hello.protocols.includes('h2') ? http2.take() : undefined
    if (leave) client.once('close', leave)
    const protocols = known.filter(name => hello.protocols.includes(name) && (name !== 'h2' || leave !== undefined))
    if (protocols.length === 0 && hello.protocols.includes('h2')) throw new Error('too many connections over HTTP/2')
    const [secureContext, secured] = await Promise.all([
      authority.leafFor(host),
      secureUpstream(upstream, host, { protocols, trust: trustOf(authorities) }, within).catch((error: unknown) => {
        if (error instanceof UpstreamUntrusted) return error
        throw error
      }),
    ])
    const fault = secured instanceof UpstreamUntrusted ? secured.message : undefined
    const agreed = secured instanceof UpstreamUntrusted ? undefined : secured
    const protocol = agreed ? agreed.alpnProtocol || undefined : (protocols.at(-1) ?? undefined)
    const inside = await acceptTls(client, { secureContext, protocol }, within)
    if (leave) inside.once('close', leave)
    const edge = openEdge(secrets, target, events, fault)
    if (protocol === 'h2') serveHttp2(inside, agreed, edge)
    else {
      leave?.()
      serveHttp1(inside, agreed, edge)
    }
  } catch (error) {
    if (error instanceof NotTls) events.refused('policy', `a connection to ${host}:${target.port} that is not TLS`)
    endBoth()
  }
}

/** A TLS alert: the name of the host is not the one of the connection (RFC 6066, 3). */
const unrecognizedName = Buffer.from([21, 3, 1, 0, 2, 2, 112])

/**
 * Ends the TLS of a client that has said its hello.
 * @throws the handshake's error, the signal's reason
 */
async function acceptTls(
  client: Duplex,
  { secureContext, protocol }: { readonly secureContext: SecureContext; readonly protocol: string | undefined },
  signal: AbortSignal,
): Promise<TLSSocket> {
  signal.throwIfAborted()
  // A server for one connection: it says which protocol was agreed upon with the host.
  const server = createServer({
    ca: [],
    SNICallback: (_, done) => done(null, secureContext),
    ...(protocol !== undefined && { ALPNProtocols: [protocol] }),
  })
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>()
  const abort = () => reject(signal.reason)
  const close = () => reject(new Error('the client left during its handshake'))
  signal.addEventListener('abort', abort, { once: true })
  server.once('secureConnection', resolve).on('tlsClientError', reject)
  client.once('close', close)
  try {
    server.emit('connection', client)
    const inside = await promise
    inside.on('error', () => undefined)
    return inside
  } finally {
    signal.removeEventListener('abort', abort)
    client.off('close', close)
  }
}
