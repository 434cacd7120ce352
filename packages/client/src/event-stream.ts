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

type ReadResult = Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>['read']>>

interface Waiter<T> {
  readonly untilMs: number
  resolve(step: StreamStep<T>): void
  reject(failure: unknown): void
}

interface Alarm {
  readonly dueMs: number
  readonly timer: AbortController
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
  /** The call of `next` that waits. */
  #waiter: Waiter<T> | null = null
  /** How a read ended for which nobody waited. */
  #outcome: (() => StreamStep<T>) | null = null
  #isReading = false
  /** When the read began that is under way. */
  #waitingSince = 0
  #alarm: Alarm | null = null

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
  next(untilMs: number): Promise<StreamStep<T>> {
    const reader = this.#reader
    if (reader === null) return Promise.resolve({ kind: 'end' })
    return new Promise((resolve, reject) => {
      this.#waiter = { untilMs, resolve, reject }
      if (this.#outcome !== null) return this.#settle(this.#outcome)
      if (!this.#isReading) {
        this.#isReading = true
        this.#waitingSince = this.#request.platform.now()
        reader.read().then(this.#onRead, this.#onBreak)
      }
      this.#setAlarm()
    })
  }

  /** Closes the connection at once. Idempotent. */
  close(): void {
    this.#release()
    this.#alarm?.timer.abort()
    this.#alarm = null
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

  readonly #onRead = (result: ReadResult): void => {
    this.#isReading = false
    this.#settle(() => {
      if (result.done) return { kind: 'end' }
      try {
        return { kind: 'frames', frames: this.#frames.feed(result.value) }
      } catch (cause) {
        throw this.#fault('the stream cannot be read', { cause })
      }
    })
  }

  readonly #onBreak = (cause: unknown): void => {
    this.#isReading = false
    this.#settle(() => {
      this.#request.signal?.throwIfAborted()
      throw this.#fault('the stream broke', { cause })
    })
  }

  /** Ends the wait by an outcome; the next wait gets it if nobody waits now. */
  #settle(outcome: () => StreamStep<T>): void {
    const waiter = this.#waiter
    this.#outcome = waiter === null ? outcome : null
    this.#waiter = null
    if (waiter === null) return
    try {
      waiter.resolve(outcome())
    } catch (failure) {
      waiter.reject(failure)
    }
  }

  /**
   * Sees to it that the clock wakes the wait in time. Chunks move the time on, but an alarm that is set already stays:
   * it rings too early, looks, and is set anew. A timer for each chunk took a third of the follower's processor time.
   */
  #setAlarm(): void {
    const dueMs = Math.min(this.#waitingSince + this.#request.watchdogMs, this.#waiter?.untilMs ?? Infinity)
    if (this.#alarm !== null && this.#alarm.dueMs <= dueMs) return
    this.#alarm?.timer.abort()
    const alarm = { dueMs, timer: new AbortController() }
    this.#alarm = alarm
    const { platform } = this.#request
    platform.sleep(Math.max(0, dueMs - platform.now()), alarm.timer.signal).then(
      () => this.#ring(alarm),
      () => {},
    )
  }

  #ring(alarm: Alarm): void {
    if (this.#alarm !== alarm) return
    this.#alarm = null
    const waiter = this.#waiter
    if (waiter === null) return
    const { platform, watchdogMs } = this.#request
    // A timer may be early by the clock, which then must not let it be set again and again.
    const now = Math.max(platform.now(), alarm.dueMs)
    if (now >= this.#waitingSince + watchdogMs) {
      this.#settle(() => {
        throw this.#fault(`no byte in ${watchdogMs} ms`)
      })
    } else if (now >= waiter.untilMs) this.#settle(() => ({ kind: 'idle' }))
    else this.#setAlarm()
  }

  #fault(message: string, options?: ErrorOptions): BerthConnectionError {
    return new BerthConnectionError(this.#request.name, message, options)
  }
}
