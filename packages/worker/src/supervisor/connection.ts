import type { Duplex } from 'node:stream'
import type { SupervisorGreeting, WorkerMessage } from '@berth/supervisor'
import { ConnectionClosedError, FenceLostError, SandboxFrozenError, SupervisorProtocolError } from './errors.ts'
import { type JournalRecord, SupervisorStream } from './stream.ts'

/** Records that wait for the caller; beyond this many bytes the socket is not read. */
const MAX_WAITING_BYTES = 1024 * 1024
/** Memory that a record costs besides its bytes: a million empty lines must not count as nothing. */
const RECORD_OVERHEAD_BYTES = 256

/** Runs `callback` after `delayMs`; the returned function cancels that. */
export type SetTimer = (callback: () => void, delayMs: number) => () => void

export interface SupervisorConnectionOptions {
  /** The Run's fence token. */
  readonly fence: number
  /** Offset of the journal up to which everything is committed. */
  readonly from: number
  /** Milliseconds without an answer after which the supervisor counts as frozen. */
  readonly helloDeadlineMs: number
  /** Closes the connection. */
  readonly signal?: AbortSignal
  readonly setTimer?: SetTimer
}

interface Ping {
  readonly n: number
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/**
 * A worker's connection to one supervisor: orders go in, the journal comes out.
 *
 * Every order carries a key. After a lost connection the caller attaches again from its last committed offset. It
 * repeats, with the same keys, the orders whose records it has not read. Only the journal proves that an order was
 * carried out: the promise of an order only means that the bytes left this process.
 */
export class SupervisorConnection implements AsyncDisposable {
  readonly #stream: Duplex
  readonly #setTimer: SetTimer
  readonly #signal: AbortSignal | undefined
  readonly #greeting = Promise.withResolvers<SupervisorGreeting>()
  #waiting: JournalRecord[] = []
  #waitingBytes = 0
  #wake: (() => void) | undefined
  #failure: Error | undefined
  #pings = new Set<Ping>()
  #lastPing = 0
  #activity = 0
  #unsentAck: { readonly ack: number; readonly keep: number } | undefined
  #size = 0

  private constructor(stream: Duplex, options: SupervisorConnectionOptions) {
    this.#stream = stream
    this.#setTimer = options.setTimer ?? setSystemTimer
    this.#signal = options.signal
    this.#greeting.promise.catch(() => {})
    const input = new SupervisorStream(options.from, {
      greeting: line => this.#greeted(line),
      record: record => this.#arrived(record),
      pong: n => this.#ponged(n),
    })
    stream.on('data', (chunk: Buffer) => {
      this.#activity += 1
      try {
        input.push(chunk)
      } catch (error) {
        this.#fail(error instanceof Error ? error : new Error(String(error)))
      }
      this.#wake?.()
    })
    stream.on('drain', () => this.#sendAck())
    stream.on('error', error => this.#fail(new ConnectionClosedError('the connection broke', { cause: error })))
    for (const event of ['end', 'close']) {
      stream.on(event, () => this.#fail(new ConnectionClosedError('the supervisor closed the connection')))
    }
    options.signal?.addEventListener('abort', this.#abort)
  }

  /**
   * Attaches over `stream`, which the connection owns from here on, even if this fails.
   *
   * @throws SandboxFrozenError silence until the deadline
   * @throws FenceLostError a worker with a higher token has attached
   * @throws ConnectionClosedError the stream ended first
   * @throws SupervisorProtocolError `from` is no offset of this journal, or the other side is no supervisor
   */
  static async open(stream: Duplex, options: SupervisorConnectionOptions): Promise<SupervisorConnection> {
    const connection = new SupervisorConnection(stream, options)
    const { helloDeadlineMs } = options
    const cancel = connection.#setTimer(() => {
      connection.#fail(new SandboxFrozenError(`the supervisor said nothing for ${helloDeadlineMs} ms`))
    }, helloDeadlineMs)
    try {
      options.signal?.throwIfAborted()
      connection.#write({ hello: { fence: options.fence, from: options.from } }).catch(() => {})
      const greeting = await connection.#greeting.promise
      if ('refused' in greeting) throw new FenceLostError(greeting.refused.fence)
      if ('invalid' in greeting) {
        throw new SupervisorProtocolError(`${options.from} is no offset of a journal of ${greeting.invalid.size} bytes`)
      }
      connection.#size = greeting.welcome.size
      return connection
    } catch (error) {
      await connection[Symbol.asyncDispose]()
      throw error
    } finally {
      cancel()
    }
  }

  /** Size of the journal when this worker attached; everything before it happened without this worker. */
  get size(): number {
    return this.#size
  }

  /**
   * Yields the journal in order from the attached offset. Each batch holds all records that have arrived, for one
   * transaction to commit together. Never ends by itself; one reader at a time.
   *
   * @throws ConnectionClosedError after the last record that arrived whole
   */
  async *batches(): AsyncGenerator<readonly JournalRecord[], never> {
    for (;;) {
      if (this.#waiting.length > 0) {
        const batch = this.#waiting
        this.#waiting = []
        this.#waitingBytes = 0
        this.#release()
        yield batch
      } else if (this.#failure) {
        throw this.#failure
      } else {
        const { promise, resolve } = Promise.withResolvers<void>()
        this.#wake = resolve
        await promise
        this.#wake = undefined
      }
    }
  }

  /** Starts the agent: an `s` or `f` record with this key follows. */
  start(order: Extract<WorkerMessage, { start: unknown }>['start']): Promise<void> {
    return this.#write({ start: order })
  }

  /** Gives the agent one line of input: an `i` record with this key follows. `line` holds no newline. */
  send(key: string, line: string): Promise<void> {
    return this.#write({ in: { key, line } })
  }

  /**
   * Ends the agent, by force after `graceMs`. A `k` record with this key follows, and an `x` if an agent was running.
   */
  stop(key: string, graceMs: number): Promise<void> {
    return this.#write({ stop: { key, graceMs } })
  }

  /**
   * Tells the supervisor how far the journal is committed, which lets a paused agent continue. It may drop everything
   * before `keep`, where the next read begins. Only the newest offsets matter.
   */
  ack(offset: number, keep: number): void {
    this.#unsentAck = { ack: offset, keep }
    if (!this.#stream.writableNeedDrain) this.#sendAck()
  }

  /**
   * Resolves once the supervisor has answered. The deadline only runs while the supervisor is silent. It does not run
   * while bytes arrive, or while this side pauses the socket because records wait for the caller.
   *
   * @throws SandboxFrozenError silence for `deadlineMs`
   */
  async ping(deadlineMs: number): Promise<void> {
    if (this.#failure) throw this.#failure
    this.#lastPing += 1
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const ping: Ping = { n: this.#lastPing, resolve, reject }
    this.#pings.add(ping)
    let cancel: () => void = () => {}
    const watch = () => {
      const before = this.#activity
      cancel = this.#setTimer(() => {
        if (this.#activity !== before || this.#stream.isPaused()) watch()
        else reject(new SandboxFrozenError(`the supervisor said nothing for ${deadlineMs} ms`))
      }, deadlineMs)
    }
    watch()
    this.#write({ ping: ping.n }).catch(() => {})
    try {
      await promise
    } finally {
      this.#pings.delete(ping)
      cancel()
    }
  }

  /** Closes the connection. The agent goes on. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#fail(new ConnectionClosedError('this side closed the connection'))
  }

  #greeted(line: string): void {
    const greeting = parseGreeting(line)
    if (!greeting) throw new SupervisorProtocolError('the supervisor did not greet')
    this.#greeting.resolve(greeting)
  }

  #arrived(record: JournalRecord): void {
    this.#waiting.push(record)
    this.#waitingBytes += record.end - record.start + RECORD_OVERHEAD_BYTES
    if (this.#waitingBytes > MAX_WAITING_BYTES) this.#stream.pause()
  }

  #release(): void {
    if (!this.#stream.isPaused() || this.#failure) return
    this.#activity += 1
    this.#stream.resume()
  }

  #ponged(n: number): void {
    for (const ping of this.#pings) if (ping.n <= n) ping.resolve()
  }

  #sendAck(): void {
    if (this.#unsentAck === undefined || this.#failure) return
    const ack = this.#unsentAck
    this.#unsentAck = undefined
    this.#write(ack).catch(() => {})
  }

  #write(message: WorkerMessage): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    if (this.#failure) {
      reject(this.#failure)
      return promise
    }
    this.#stream.write(`${JSON.stringify(message)}\n`, error => {
      if (error) reject(this.#failure ?? new ConnectionClosedError('the connection broke', { cause: error }))
      else resolve()
    })
    return promise
  }

  readonly #abort = () => {
    const reason: unknown = this.#signal?.reason
    this.#fail(reason instanceof Error ? reason : new ConnectionClosedError('aborted', { cause: reason }))
  }

  /** Keeps the first failure. Records that arrived before it can still be read. */
  #fail(error: Error): void {
    if (this.#failure) return
    this.#failure = error
    this.#signal?.removeEventListener('abort', this.#abort)
    this.#stream.destroy()
    this.#greeting.reject(error)
    for (const ping of this.#pings) ping.reject(error)
    this.#wake?.()
  }
}

function setSystemTimer(callback: () => void, delayMs: number): () => void {
  const timer = setTimeout(callback, delayMs)
  return () => clearTimeout(timer)
}

function parseGreeting(line: string): SupervisorGreeting | undefined {
  try {
    const value: unknown = JSON.parse(line)
    if (hasNumber(value, 'welcome', 'fence') && hasNumber(value, 'welcome', 'size')) return value as SupervisorGreeting
    if (hasNumber(value, 'refused', 'fence')) return value as SupervisorGreeting
    if (hasNumber(value, 'invalid', 'size')) return value as SupervisorGreeting
  } catch {
    // No JSON, so no greeting.
  }
  return undefined
}

function hasNumber(value: unknown, kind: string, field: string): boolean {
  const part: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, kind) : undefined
  return typeof part === 'object' && part !== null && typeof Reflect.get(part, field) === 'number'
}
