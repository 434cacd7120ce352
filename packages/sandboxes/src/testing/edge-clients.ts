import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, type IncomingMessage, type RequestListener, request } from 'node:http'
import { type ClientHttp2Session, connect as connectHttp2, createSecureServer } from 'node:http2'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, connect, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls'
import { type Network, openNetwork } from '@berth/platform/network/dial.ts'
import type { EgressObserver, EgressSecret, EgressTarget } from '../driver.ts'
import { openLeaseAuthority } from '../egress/edge/lease-authority.ts'
import { type EgressProxy, type EgressRules, serveEgressProxy } from '../egress/proxy.ts'

/** Names that a test may use. */
export const anyHost = ['*.com', '*.org', '*.example'] as const

/** The sandbox's authority, and the one of the hosts in a test. */
export const authorities = {
  lease: openLeaseAuthority(Buffer.alloc(32, 1), 'lease', anyHost),
  hosts: openLeaseAuthority(Buffer.alloc(32, 2), 'hosts', anyHost),
} as const

export const secret: EgressSecret = {
  name: 'API_TOKEN',
  value: 'the-real-value-of-the-token',
  placeholder: 'ph0123456789abcdefghijklmn',
  hosts: ['api.example.com'],
  put: { header: 'Authorization', format: 'Bearer {value}' },
}

/** The first part of the addresses that the names of a test have. None of them is dialled. */
const PUBLIC = '93.184.216.'

/** What a test's proxy has told. */
export interface Told {
  readonly refused: (EgressTarget & { readonly reason: string })[]
  readonly used: (EgressTarget & { readonly name: string })[]
  readonly reached: EgressTarget[]
  readonly bytes: { sent: number; received: number }
}

/** Hosts of a test, on loopback, and the proxy in front of them. */
export class EdgeStage implements AsyncDisposable {
  readonly told: Told = { refused: [], used: [], reached: [], bytes: { sent: 0, received: 0 } }
  readonly dialled: string[] = []
  readonly observer: EgressObserver = {
    reached: target => void this.told.reached.push(target),
    refused: refusal => void this.told.refused.push(refusal),
    used: use => void this.told.used.push(use),
    bytes: ({ sent, received }) => {
      this.told.bytes.sent += sent
      this.told.bytes.received += received
    },
  }
  readonly dir: string
  /** Of the proxy's socket, to which all clients connect. */
  path: string
  readonly #ports = new Map<string, number>()
  readonly #stack = new AsyncDisposableStack()
  #proxy: EgressProxy | undefined

  private constructor(dir: string) {
    this.dir = dir
    this.path = join(dir, 'proxy.sock')
    this.#stack.defer(() => rm(dir, { recursive: true, force: true }))
  }

  static async open(): Promise<EdgeStage> {
    return new EdgeStage(await mkdtemp(join(tmpdir(), 'berth-edge-')))
  }

  /** A network that never leaves the machine: every name that was given a port has an address, and no other. */
  async network(): Promise<Network> {
    const resolve = async (name: string) => {
      const at = [...this.#ports.keys()].indexOf(name)
      if (at < 0) throw new Error(`no such name: ${name}`)
      return [`${PUBLIC}${at + 1}`]
    }
    return {
      lookUp: resolve,
      resolve,
      authorities: [(await authorities.hosts.trust()).certificate],
      dial: async (address, port, signal) => {
        this.dialled.push(`${address}:${port}`)
        const to = [...this.#ports.values()][Number(address.slice(PUBLIC.length)) - 1] ?? 0
        return openNetwork().dial('127.0.0.1', to, signal)
      },
    }
  }

  async serve(secrets: readonly EgressSecret[], more: Partial<EgressRules> = {}): Promise<EgressProxy> {
    this.#proxy = await serveEgressProxy({
      ...{ dir: this.dir, name: 'proxy.sock', secrets, authority: authorities.lease },
      policy: ({ host }) => ({ kind: 'allow', how: 'public', name: host, mayDial: () => true }),
      log: { warn: () => undefined },
      network: await this.network(),
      observe: this.observer,
      ...more,
    })
    const proxy = this.#proxy
    this.#stack.defer(() => proxy[Symbol.asyncDispose]())
    return proxy
  }

  /** Gives a name to a port on loopback. */
  name(host: string, port: number): void {
    this.#ports.set(host, port)
  }

  /** Gives a name to a server on loopback. */
  async listen(host: string, server: Server): Promise<number> {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    this.#stack.defer(() => {
      server.close()
      if ('closeAllConnections' in server) (server as { closeAllConnections(): void }).closeAllConnections()
    })
    const { port } = server.address() as AddressInfo
    this.name(host, port)
    return port
  }

  /** A host that speaks HTTPS, in one version or both. */
  async host(
    host: string,
    listener: RequestListener,
    { http2 = false, context, upgrade }: Hosting = {},
  ): Promise<number> {
    const own = context ?? (await authorities.hosts.leafFor(host))
    const options = {
      SNICallback: (_: string, done: (error: Error | null, found: SecureContext) => void) => done(null, own),
    }
    const server = http2
      ? createSecureServer({ ...options, allowHTTP1: true }, listener as never)
      : createHttps(options, listener)
    if (upgrade) (server as Server).on('upgrade', upgrade)
    return await this.listen(host, server as unknown as Server)
  }

  /** Opens a tunnel by hand. */
  async tunnel(authority: string, path = this.path): Promise<{ readonly socket: Socket; readonly head: string }> {
    const socket = connect({ path, allowHalfOpen: true })
    this.#stack.defer(() => void socket.destroy())
    socket.on('error', () => undefined)
    socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\nUser-Agent: probe/1\r\n\r\n`)
    let head = ''
    while (!head.includes('\r\n\r\n')) {
      const part: Buffer | null = socket.read()
      if (part) head += part.toString('latin1')
      else await once(socket, 'readable')
    }
    return { socket, head }
  }

  /** Begins TLS with a host through the proxy. */
  async secure(host: string, { protocols = ['http/1.1'], servername = host, ca }: Securing = {}): Promise<TLSSocket> {
    const { socket, head } = await this.tunnel(`${host}:443`)
    if (!head.startsWith('HTTP/1.1 200')) throw new Error(head)
    const secure = connectTls({
      socket,
      servername,
      ca: ca ?? (await authorities.lease.trust()).certificate,
      ...(protocols.length > 0 && { ALPNProtocols: [...protocols] }),
    })
    this.#stack.defer(() => void secure.destroy())
    await once(secure, 'secureConnect')
    secure.on('error', () => undefined)
    return secure
  }

  /** Opens HTTP/2 with a host through the proxy. */
  async http2(host: string): Promise<ClientHttp2Session> {
    const secure = await this.secure(host, { protocols: ['h2', 'http/1.1'] })
    if (secure.alpnProtocol !== 'h2') throw new Error(`the proxy speaks ${secure.alpnProtocol}`)
    const session = connectHttp2(`https://${host}`, { createConnection: () => secure })
    session.on('error', () => undefined)
    this.#stack.defer(() => void session.destroy())
    return session
  }

  /** Sends one request over HTTP/1.1. */
  async ask(host: string, path: string, options: AskOptions = {}, over?: TLSSocket | Agent): Promise<Answer> {
    return await askOver(over ?? (await this.secure(host)), path, {
      ...options,
      headers: ['Host', host, ...(options.headers ?? [])],
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync()
  }
}

export interface Hosting {
  readonly http2?: boolean
  readonly context?: SecureContext
  /** Answers requests for another protocol, such as a WebSocket's. */
  readonly upgrade?: (incoming: IncomingMessage, socket: Duplex) => void
}

export interface Securing {
  readonly protocols?: readonly string[]
  readonly servername?: string
  readonly ca?: string
}

export interface AskOptions {
  readonly method?: string
  readonly headers?: readonly string[]
  readonly body?: Readable | string
}

export interface Answer {
  readonly status: number
  readonly body: string
  readonly response: IncomingMessage
}

/** Sends one request over a connection, with exactly these headers. */
export async function askOver(
  over: Socket | Agent,
  path: string,
  { method = 'GET', headers = [], body }: AskOptions,
): Promise<Answer> {
  const sized = typeof body === 'string' ? ['Content-Length', String(Buffer.byteLength(body))] : []
  const chunked = body !== undefined && typeof body !== 'string' ? ['Transfer-Encoding', 'chunked'] : []
  const outgoing = request({
    ...(over instanceof Agent ? { agent: over } : { createConnection: () => over }),
    ...{ path, method, setHost: false, headers: [...headers, ...sized, ...chunked] },
  })
  outgoing.on('error', () => undefined)
  if (body === undefined || typeof body === 'string') outgoing.end(body)
  else body.pipe(outgoing)
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  return { status: response.statusCode ?? 0, body: await text(response), response }
}
