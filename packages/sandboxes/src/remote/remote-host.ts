import { createServer, type Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { asObject } from '@berth/platform/kit/json.ts'
import type { Network } from '@berth/platform/network/dial.ts'
import type { SandboxEgress, SandboxService } from '../driver.ts'
import type { Line } from '../line/line.ts'
import { HostAwayError } from '../line/line-error.ts'
import { LentProxies } from './lent-proxies.ts'
import { type HostFacts, isLent, readFacts } from './wire.ts'

/** What a host is asked to do again once it has dialled with a new process. */
export type Renew = (line: Line) => Promise<void>

export interface RemoteHostOptions {
  /** Longest wait of a call for a host that is dialling. */
  readonly awayMs: number
  readonly log: { warn(fields: object, message: string): void }
  /** The network that this process lends to sandboxes; absent: it lends none. */
  readonly lends?: Network
  /** Whether the host has no network of its own, so that each connection of its sandboxes is lent one. */
  readonly hasNoNetwork?: boolean
}

const MAX_HEADER_BYTES = 32 * 1024

/**
 * A host that dials this process, through all of its lines: the newest counts, and each call looks for it, so a host that
 * has dialled again is used at once.
 */
export class RemoteHost {
  readonly #options: RemoteHostOptions
  #line: Line | null = null
  #facts: HostFacts | null = null
  readonly #waiting = new Set<(line: Line) => void>()
  /** Egress of the sandboxes whose proxies this process has opened, by lease id. */
  readonly #open = new Map<string, SandboxEgress>()
  readonly #server: Server
  readonly #services = new WeakMap<object, SandboxService>()
  readonly #lent: LentProxies | undefined

  constructor(options: RemoteHostOptions) {
    this.#options = options
    this.#lent = options.lends && new LentProxies(options.lends, options.log)
    this.#server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: 0, keepAliveTimeout: 0 })
    this.#server.on('request', (incoming, outgoing) => {
      const service = this.#services.get(incoming.socket)
      void service?.answer(incoming, outgoing, incoming.url ?? '/').catch((error: unknown) => {
        options.log.warn({ err: error }, 'a request from a sandbox of a host failed')
        outgoing.destroy()
      })
    })
  }

  /** Whether a line leads to the host now. */
  get isLive(): boolean {
    return this.#line?.isOpen === true
  }

  /** What the host has said of itself; null before its first line. */
  get facts(): HostFacts | null {
    return this.#facts
  }

  /**
   * Takes a line of the host in place of the one before, which is closed.
   * @param renew tells a new process of the host what the one before was told
   * @throws HostAwayError if it breaks meanwhile, LineBroken if the host does not say what it is
   */
  async take(line: Line, renew: Renew): Promise<HostFacts> {
    const facts = readFacts(await line.ask('facts', null))
    if (this.#facts !== null && this.#facts.boot !== facts.boot) await renew(line)
    this.#line?.destroy(new HostAwayError('the host has dialled again'))
    this.#facts = facts
    this.#line = line
    for (const next of this.#waiting) next(line)
    return facts
  }

  /**
   * Returns the line, or waits for one.
   * @throws HostAwayError, the signal's reason
   */
  async line(signal?: AbortSignal): Promise<Line> {
    signal?.throwIfAborted()
    if (this.#line?.isOpen === true) return this.#line
    const { promise, resolve } = Promise.withResolvers<Line>()
    const over = new AbortController()
    this.#waiting.add(resolve)
    const until = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal])
    try {
      const away = sleep(this.#options.awayMs, null, { signal: until }).catch(() => null)
      const line = await Promise.race([promise, away])
      signal?.throwIfAborted()
      if (line === null) throw new HostAwayError('the host is not connected')
      return line
    } finally {
      this.#waiting.delete(resolve)
      over.abort()
    }
  }

  /** The sandboxes whose proxies this process has opened. */
  get opened(): ReadonlyMap<string, SandboxEgress> {
    return this.#open
  }

  /** Answers requests of a sandbox from now on, until it is frozen or destroyed. */
  opens(leaseId: string, egress: SandboxEgress): void {
    this.#open.set(leaseId, egress)
    this.#lent?.allow(leaseId, egress)
  }

  closes(leaseId: string): void {
    this.#open.delete(leaseId)
    this.#lent?.deny(leaseId)
  }

  /** Takes a request of a sandbox. The host says which; so it can only reach what its own sandboxes may. */
  readonly answer = (message: unknown, stream: Duplex): void => {
    const { leaseId, to } = asObject(message)
    const egress = typeof leaseId === 'string' ? this.#open.get(leaseId) : undefined
    const lends = egress !== undefined && (this.#options.hasNoNetwork === true || isLent(egress))
    if (to === 'proxy' && lends && this.#lent !== undefined) {
      this.#lent.take(String(leaseId), egress, stream)
      return
    }
    const service = to === 'gateway' ? egress?.gateway : to === 'service' ? egress?.service : undefined
    if (service === undefined) {
      stream.end(nobody)
      return
    }
    this.#services.set(stream, service)
    this.#server.emit('connection', stream)
  }

  /** Lets the host go; its sandboxes stay. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#line?.[Symbol.asyncDispose]()
    this.#server.close()
    this.#lent?.[Symbol.dispose]()
  }
}

const nobody = 'HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'
