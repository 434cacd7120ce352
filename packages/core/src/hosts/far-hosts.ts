import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { LoopingService } from '@berth/platform/kit/looping-service.ts'
import { StartError } from '@berth/platform/kit/start-error.ts'
import { errorCode } from '@berth/platform/kit/system-errors.ts'
import { type Network, openNetwork } from '@berth/platform/network/dial.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import { deadlineOf } from '@berth/sandboxes/line/deadline.ts'
import { Line } from '@berth/sandboxes/line/line.ts'
import { HostAwayError } from '@berth/sandboxes/line/line-error.ts'
import { LineRefused, refuseUpgrade, takeUpgrade } from '@berth/sandboxes/line/upgrade.ts'
import {
  type CallBounds,
  createRemoteDriver,
  type MirrorPacks,
  renewProxies,
} from '@berth/sandboxes/remote/create-driver.ts'
import { RemoteHost } from '@berth/sandboxes/remote/remote-host.ts'
import { driverErrors } from '@berth/sandboxes/remote/wire.ts'
import type { Logger } from 'pino'
import { addressBucket } from '../identity/guard/address-bucket.ts'
import { GuessMeter } from '../identity/guard/guess-meter.ts'
import {
  type ConnectedHost,
  leaveConnection,
  newestConnections,
  noteRefusedProtocol,
  takeConnection,
} from './far-host-sql.ts'
import { type HostIdentity, isForeignToken } from './host-identity.ts'
import { endHostRest, letHostRest, type RestBounds, type RestCause } from './host-rest-sql.ts'
import type { Host, HostRest, Hosts } from './hosts.ts'
import { takePodConnection } from './pod-host-sql.ts'
import { type Dial, isSameDigest, OtherProtocol, readDial } from './read-dial.ts'

export interface FarHostsOptions {
  readonly db: Database
  readonly log: Logger
  readonly hosts: Hosts
  /** Names this process, for the rows of its hosts. */
  readonly holder: string
  /** The parts of a far host that are at this machine. */
  readonly parts: (
    driver: Host['driver'],
  ) => Pick<Host, 'mirrors' | 'checkouts' | 'checkpoints' | 'images' | 'packages'>
  readonly packs: MirrorPacks
  /** Judges the hosts that are pods; absent: there are none. */
  readonly identity?: HostIdentity | undefined
  readonly listener: { readonly host: string; readonly port: number }
  /** Returns the address that dials, which a proxy may have passed on. */
  readonly clientAddress: (request: IncomingMessage) => string
  /** Replaces the meter of wrong tokens, for tests. */
  readonly guesses?: GuessMeter | undefined
  /** Told to hosts: they end their sandboxes by themselves after a longer silence. */
  readonly leaseMaxMs: number
  /** A host that is away for longer is no longer held: another process may get its next connection. */
  readonly awayMs?: number
  /** Lent to pods; this machine's unless a test replaces it. */
  readonly network?: Network
  readonly pollMs?: number
  /** Replaces bounds of calls, for tests. */
  readonly calls?: Partial<CallBounds> | undefined
  /** Longest wait for what a host says of itself. */
  readonly factsMs?: number
  /** Replaces how long a host rests after failures, for tests. */
  readonly rests?: RestBounds | undefined
}

const AWAY_MS = 10_000
const POLL_MS = 5_000
const FACTS_MS = 15_000
/** Hosts whose connection is not taken yet; more are a flood. */
const MAX_DIALLING = 256
const MAX_HEADER_BYTES = 16 * 1024
const HEADERS_MS = 10_000
/** A host waits longer than this for its connection. */
const JUDGE_MS = 10_000

/** A host that may connect. */
interface Admitted extends Pick<ConnectedHost, 'id' | 'epoch'> {
  /** Only pods are lent the network of this process: another machine has its own, and must not get into this one's. */
  readonly isPod?: boolean
}

interface Held {
  readonly remote: RemoteHost
  /** Absent: it is a pod, which is given no second sandbox anyway. */
  readonly rest: HostRest | undefined
  line: Line
  epoch: number
  /** Ends the wait for the next line. */
  away: NodeJS.Timeout | undefined
}

/**
 * Takes the hosts that dial this process, and lets it hold them. Each connection raises the number of its host, so that of
 * two only the newest counts; this process closes its own once it hears of a newer one elsewhere.
 */
export class FarHosts extends LoopingService {
  override readonly name = 'far hosts'
  readonly #options: FarHostsOptions
  readonly #server: Server
  readonly #held = new Map<string, Held>()
  /** The newest line of each host that has not said what it is. A host has one at most, however often it dials. */
  readonly #coming = new Map<string, { readonly line: Line; readonly epoch: number }>()
  /** Of an unanswered call both the line and the Run that made it tell: it is one failure. */
  readonly #begun = new WeakMap<Error, Promise<void>>()
  readonly #guesses: GuessMeter
  #dialling = 0
  #port = 0

  constructor(options: FarHostsOptions) {
    super(options.pollMs ?? POLL_MS)
    this.#options = options
    this.#guesses = options.guesses ?? new GuessMeter()
    this.#server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: HEADERS_MS })
    this.#server.on('request', (_, response) => {
      response.writeHead(426, { Connection: 'close', 'Content-Type': 'text/plain' }).end('hosts dial here\n')
    })
    this.#server.on('upgrade', (request, socket, head) => {
      socket.on('error', () => undefined)
      void this.#dial(request, socket, head)
    })
  }

  /** The port that hosts dial. */
  get port(): number {
    return this.#port
  }

  override async start(): Promise<void> {
    const { host, port } = this.#options.listener
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#server.once('error', reject)
    this.#server.listen({ host, port }, resolve)
    await promise.catch(cause => {
      throw new StartError(
        `cannot listen on ${host}:${port} (${errorCode(cause)}); BERTH_HOSTS_PORT chooses another port`,
        {
          cause,
        },
      )
    })
    this.#server.off('error', reject)
    this.#port = (this.#server.address() as AddressInfo).port
    await super.start()
  }

  /** Lets all hosts go: they dial again and find another process. Their sandboxes go on. */
  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]()
    this.#server.close()
    this.#server.closeAllConnections()
    for (const { line } of this.#coming.values()) line.destroy(new HostAwayError('this process stops'))
    for (const [id, held] of this.#held) await this.#let(id, held)
  }

  /** Closes connections that are no longer the newest of their hosts, and those of hosts whose token was taken away. */
  protected async round(): Promise<void> {
    const held = [...this.#held].map(([id, { epoch }]) => ({ id, epoch }))
    if (held.length === 0) return
    const newest = await newestConnections(this.#options.db, held)
    for (const { id, epoch } of held) {
      const one = this.#held.get(id)
      if (newest.has(id) || one?.epoch !== epoch) continue
      this.#options.log.info({ host: id, epoch }, 'a host has a newer connection, or no token any more')
      await this.#let(id, one)
    }
  }

  protected failed(error: unknown): void {
    this.#options.log.warn({ err: error }, 'the connections of hosts could not be looked at')
  }

  async #dial(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    this.#dialling += 1
    try {
      if (this.#dialling > MAX_DIALLING) throw new LineRefused(503, 'too many hosts dial at once; try again')
      const dial = await this.#read(request)
      const connected = await this.#admit(request, dial)
      await this.#connect(connected, socket, head)
    } catch (error) {
      if (error instanceof LineRefused) return refuseUpgrade(socket, error.status, error.message)
      this.#options.log.warn({ err: error }, 'a host could not be connected')
      refuseUpgrade(socket, 503, 'the service cannot take this host now; try again')
    } finally {
      this.#dialling -= 1
    }
  }

  /** Reads who dials. A known host of another release is noted, so that its organization is told why nothing runs there. */
  async #read(request: IncomingMessage): Promise<Dial> {
    try {
      return readDial(request)
    } catch (error) {
      if (error instanceof OtherProtocol && error.presented !== undefined) {
        const { tokenSha256, protocol } = error.presented
        await this.#lookUp(request, tokenSha256, () => noteRefusedProtocol(this.#options.db, tokenSha256, protocol))
      }
      throw error
    }
  }

  async #admit(request: IncomingMessage, dial: Dial): Promise<Admitted> {
    const { db, identity, holder } = this.#options
    if (identity !== undefined && isForeignToken(dial.token)) return await this.#admitPod(identity, request, dial)
    const { tokenSha256, host } = dial
    const connected = await this.#lookUp(request, tokenSha256, () => takeConnection(db, tokenSha256, host, holder))
    if (connected !== null && 'ownPool' in connected) {
      throw new LineRefused(403, `its token is for the pool ${connected.ownPool}, and the host says ${host.pool}`)
    }
    if (connected === null || !isSameDigest(connected.tokenSha256, tokenSha256)) {
      throw new LineRefused(401, 'this token is not valid')
    }
    return connected
  }

  async #admitPod(identity: HostIdentity, request: IncomingMessage, dial: Dial): Promise<Admitted> {
    const { db, holder } = this.#options
    const { token, tokenSha256, host } = dial
    let refused = new LineRefused(401, 'this pod was removed')
    const connected = await this.#lookUp(request, tokenSha256, async () => {
      try {
        const pod = await identity.judge(token, AbortSignal.timeout(JUDGE_MS))
        return await takePodConnection(db, pod, host, holder)
      } catch (error) {
        if (!(error instanceof LineRefused)) throw error
        refused = error
        return null
      }
    })
    if (connected === null) throw refused
    return { ...connected, isPod: true }
  }

  /**
   * Looks a token up, unless its address came with too many wrong ones.
   * @param find finds nothing, or false, for a wrong token
   * @throws LineRefused
   */
  async #lookUp<T extends object | boolean>(
    request: IncomingMessage,
    tokenSha256: Buffer,
    find: () => Promise<T | null>,
  ): Promise<T | null> {
    const address = addressBucket(this.#options.clientAddress(request))
    const found = await this.#guesses.meter(address, tokenSha256.toString('base64'), find)
    if (typeof found !== 'number') return found
    throw new LineRefused(429, `too many wrong tokens came from this address; try again in ${found} s`)
  }

  async #connect({ id, epoch, isPod = false }: Admitted, socket: Duplex, head: Buffer): Promise<void> {
    const { log, leaseMaxMs, awayMs = AWAY_MS, factsMs = FACTS_MS } = this.#options
    const coming = this.#coming.get(id)
    if (coming !== undefined && coming.epoch > epoch) throw new LineRefused(503, 'this host has dialled again')
    const before = this.#held.get(id)
    this.#expect(before)
    const lends = this.#options.network ?? openNetwork()
    const remote = before?.remote ?? new RemoteHost({ awayMs, log, lends, hasNoNetwork: isPod })
    takeUpgrade(socket, head, {
      ...{ 'Berth-Admission': id, 'Berth-Epoch': String(epoch), 'Berth-Lease-Max-Ms': String(leaseMaxMs) },
    })
    const line = new Line(socket, { errors: driverErrors, answer: remote.answer })
    void line.closed.then(() => this.#cut(id, line))
    coming?.line.destroy(new HostAwayError('the host has dialled again'))
    this.#coming.set(id, { line, epoch })
    const late = setTimeout(() => line.destroy(new HostAwayError('the host is silent')), factsMs)
    try {
      await remote.take(line, renewProxies(remote))
    } catch (error) {
      line.destroy(new HostAwayError('the host did not say what it is'))
      // The line before may stand yet; once it is cut, its own wait begins.
      if (before !== undefined && !before.line.isOpen) this.#wait(id, before)
      log.warn({ err: error, host: id }, 'a host could not be connected')
      return
    } finally {
      clearTimeout(late)
      if (this.#coming.get(id)?.line === line) this.#coming.delete(id)
    }
    const now = this.#held.get(id)
    if (now !== undefined && now.epoch > epoch) return line.destroy(new HostAwayError('the host has dialled again'))
    const rest = isPod ? undefined : this.#restOf(id)
    this.#held.set(id, { remote, rest, line, epoch, away: undefined })
    if (now !== undefined && now.remote !== remote) void now.remote[Symbol.asyncDispose]()
    log.info({ host: id, epoch }, 'a host is connected')
    if (!line.isOpen) this.#cut(id, line)
    // It may have been let go while its new line was taken.
    if (now?.remote === remote) return this.#options.hosts.returned(id)
    const driver = createRemoteDriver(remote, this.#options.packs, this.#options.calls)
    const installed = () => remote.facts?.runtimes ?? []
    const isLive = () => remote.isLive
    this.#options.hosts.add({ id, driver, installed, isLive, ...(rest && { rest }), ...this.#options.parts(driver) })
  }

  /** Lets a host stay held whose next line has come. */
  #expect(held: Held | undefined): void {
    if (held === undefined) return
    clearTimeout(held.away)
    held.away = undefined
  }

  /** Waits for the next connection of a host before it is no longer held. */
  #cut(id: string, line: Line): void {
    const { log } = this.#options
    const held = this.#held.get(id)
    if (held?.line !== line || held.away !== undefined) return
    log.warn({ host: id, epoch: held.epoch }, 'the line to a host is cut')
    // It may dial again at once, and hang again.
    if (deadlineOf(line.fault)) void held.rest?.begin(line.fault)
    this.#wait(id, held)
  }

  #restOf(id: string): HostRest {
    const { db, log, rests } = this.#options
    const begin = async (because: RestCause) => {
      const rest = await letHostRest(db, id, because, rests).catch(failure => void this.failed(failure))
      if (rest) log.warn({ host: id, because, ...rest }, 'a host has failed, and gets no further sandbox for a while')
    }
    return {
      begin: error => {
        const deadline = deadlineOf(error)
        if (deadline === undefined) return begin('line_cut')
        const begun = this.#begun.get(deadline) ?? begin('no_answer')
        this.#begun.set(deadline, begun)
        return begun
      },
      end: () => endHostRest(db, id).catch(failure => this.failed(failure)),
    }
  }

  #wait(id: string, held: Held): void {
    held.away = setTimeout(() => {
      if (this.#held.get(id) === held && !held.line.isOpen) void this.#let(id, held)
    }, this.#options.awayMs ?? AWAY_MS)
    held.away.unref()
  }

  async #let(id: string, held: Held): Promise<void> {
    clearTimeout(held.away)
    this.#held.delete(id)
    this.#options.hosts.remove(id)
    held.line.goAway()
    await held.remote[Symbol.asyncDispose]()
    await leaveConnection(this.#options.db, { id, epoch: held.epoch }).catch(error => this.failed(error))
  }
}
