import type { CallOptions } from './call-options.ts'
import { abortAfter, linkedController } from './deadline.ts'
import { BerthConnectionError } from './error.ts'
import { FrameReader } from './frames.ts'
import type { Platform } from './platform.ts'

/** The result of waiting on a stream. */
export type StreamStep<T> =
  | { readonly kind: 'frames'; readonly frames: readonly T[] }
  /** No byte arrived in the given time. */
  | { readonly kind: 'idle' }
  /** The server ended the stream. */
  | { readonly kind: 'end' }

export interface StreamRequest<T> {
  /** Names the stream in errors. */
  readonly name: string
  open(options: CallOptions): Promise<Response>
  /** Reads a frame; null skips it. */
  parse(frame: { readonly id?: string | undefined; readonly data: string }): T | null
  readonly platform: Platform
  /** Longest silence, while opening and during every wait for bytes; comments count as bytes. */
  readonly watchdogMs: number
  readonly signal: AbortSignal | undefined
}

/**
 * One open stream, read only on request: a slow consumer holds back the sender instead of filling this side's memory.
 * The watchdog runs only during a read, so time that the consumer takes does not count as silence.
 */
export class EventStream<T> {
  readonly #request: StreamRequest<T>
  readonly #controller: AbortController
  readonly #release: () => void
  readonly #frames: FrameReader<T>
  #reader: ReadableStreamDefaultReader<Uint8Array> | null = null
  #pending: ReturnType<ReadableStreamDefaultReader<Uint8Array>['read']> | null = null
  #waitingSince = 0

  private constructor(request: StreamRequest<T>) {
    this.#request = request
    this.#frames = new FrameReader(frame => request.parse(frame))
    const { controller, release } = linkedController(request.signal)
    this.#controller = controller
    this.#release = release
  }

  /**
   * Opens the stream.
   * @throws BerthError if the service refuses, BerthConnectionError if the response is not an event stream
   */
  static async open<T>(request: StreamRequest<T>): Promise<EventStream<T>> {
    const stream = new EventStream(request)
    try {
      await stream.#connect()
      return stream
    } catch (failure) {
      stream.close()
      throw failure
    }
  }

  get retryMs(): number | null {
    return this.#frames.retryMs
  }

  /**
   * Waits for bytes, at most until the clock reaches `untilMs`. If a chunk completes no frame, `frames` is empty.
   * @throws BerthConnectionError if the stream breaks or stays silent too long
   */
  async next(untilMs: number): Promise<StreamStep<T>> {
    if (this.#reader === null) return { kind: 'end' }
    const { platform, watchdogMs } = this.#request
    if (this.#pending === null) {
      this.#waitingSince = platform.now()
      this.#pending = this.#reader.read()
      // The read may fail while nobody waits for it; the next wait still reports the failure.
      this.#pending.catch(() => {})
    }
    const deadMs = this.#waitingSince + watchdogMs
    const result = await this.#firstOf(this.#pending, Math.min(deadMs, untilMs) - platform.now())
    if (result === null) {
      if (platform.now() >= deadMs) throw this.#fault(`no byte in ${watchdogMs} ms`)
      return { kind: 'idle' }
    }
    this.#pending = null
    if (result.done) return { kind: 'end' }
    try {
      return { kind: 'frames', frames: this.#frames.feed(result.value) }
    } catch (cause) {
      throw this.#fault('the stream cannot be read', { cause })
    }
  }

  /** Closes the connection at once. Idempotent. */
  close(): void {
    this.#release()
    this.#controller.abort()
    this.#reader?.cancel().catch(() => {})
    this.#reader = null
  }

  async #connect(): Promise<void> {
    const { platform, watchdogMs } = this.#request
    const late = () => this.#fault(`the stream did not open in ${watchdogMs} ms`)
    const disarm = abortAfter(platform, watchdogMs, this.#controller, late)
    try {
      const response = await this.#request.open({ signal: this.#controller.signal })
      const type = response.headers.get('content-type') ?? 'nothing'
      if (response.body === null || !/^text\/event-stream\b/i.test(type)) {
        throw this.#fault(`expected an event stream, got ${type}`)
      }
      this.#reader = response.body.getReader()
    } finally {
      disarm()
    }
  }

  /** Returns null if the time runs out first. The timer never outlives the wait. */
  async #firstOf<R>(pending: Promise<R>, ms: number): Promise<R | null> {
    const timer = new AbortController()
    try {
      const timeout = this.#request.platform.sleep(Math.max(0, ms), timer.signal).then(() => null)
      return await Promise.race([pending, timeout])
    } catch (cause) {
      this.#request.signal?.throwIfAborted()
      throw this.#fault('the stream broke', { cause })
    } finally {
      timer.abort()
    }
  }

  #fault(message: string, options?: ErrorOptions): BerthConnectionError {
    return new BerthConnectionError(this.#request.name, message, options)
  }
}
