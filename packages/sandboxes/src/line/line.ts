import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2'
import type { Duplex } from 'node:stream'
import { isObject } from '@berth/platform/kit/json.ts'
import { bytesOnly } from './bytes-only.ts'
import { Deadline, DeadlineOver } from './deadline.ts'
import { readFrame, writeFrame } from './frame.ts'
import { type ErrorClasses, HostAwayError, LineBroken, receivedError } from './line-error.ts'
import { bindTo, type LineBounds, lineBounds, sessionOptions, watch, widen } from './session.ts'
import { TakenBytes } from './taken-bytes.ts'

/** Path of a stream that the host may use for a call of its own. */
export const OFFER_PATH = '/offer'
/** Ahead of the name of a call. */
export const CALL_PATH = '/call/'

/** The answer to a call: its value, and the bytes behind it. */
export interface Answered {
  readonly value: unknown
  /** Both ways. Its reader and writer may break it at any time; an error of it was heard already. */
  readonly stream: Duplex
}

/** A call of the host, which has the stream to itself. */
export type Answerer = (message: unknown, stream: Duplex) => void

/** How a call is made. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  readonly body?: Body
  /** Longest wait for the answer. */
  readonly answerMs?: number
  /** In its place, for a call with a body: longest wait in which the host takes none of the bytes that lie ready for it. */
  readonly quietMs?: number
}

/** What a line needs besides its socket. */
export interface LineOptions {
  /** Errors that arrive as themselves. */
  readonly errors: ErrorClasses
  /** Answers the host's own calls; absent: it may make none. */
  readonly answer?: Answerer
  readonly bounds?: Partial<LineBounds>
}

/** Streams that lie ready at the host for calls of its own; each that it uses is replaced. */
const OFFERS = 8
/** Calls of a host at once. */
const MAX_OFFERED = 1_024
/** What a host says ahead of a call of its own: a lease and a word. A thousand of them may come at once. */
const FIRST_FRAME_BYTES = 4 * 1024
const FIRST_FRAME_MS = 10_000

/**
 * The worker's end of the line to a host: HTTP/2 over the socket that the host dialled, with the roles reversed, so each
 * call is a stream with flow control of its own. A call is a value, then bytes; so is its answer.
 */
export class Line implements AsyncDisposable {
  readonly #session: ClientHttp2Session
  readonly #options: LineOptions
  readonly #bounds: LineBounds
  readonly #closed = Promise.withResolvers<void>()
  #fault: Error | null = null
  readonly #unused = new Set<ClientHttp2Stream>()
  #used = 0

  /** @param socket of the upgraded request */
  constructor(socket: Duplex, options: LineOptions) {
    this.#options = options
    this.#bounds = { ...lineBounds, ...options.bounds }
    this.#session = connect('http://host', { createConnection: () => socket, ...sessionOptions(this.#bounds) })
    this.#session.once('connect', () => {
      widen(this.#session)
      if (options.answer !== undefined) this.#offer(options.answer)
    })
    this.#session.on('error', error => {
      this.#fault ??= error
    })
    this.#session.once('goaway', () => this.goAway())
    bindTo(socket, this.#session)
    this.#session.once('close', () => this.#closed.resolve())
    watch(this.#session, this.#bounds)
  }

  /** Whether calls can begin: the line stands, and neither side is leaving. */
  get isOpen(): boolean {
    return !this.#session.closed && !this.#session.destroyed
  }

  /** The fault that ended the line, or is about to; null if none is known. */
  get fault(): Error | null {
    return this.#fault
  }

  /** Resolves when the line is over. */
  get closed(): Promise<void> {
    return this.#closed.promise
  }

  /**
   * Calls the host and waits for the value of its answer. A host that does not answer in time counts as away: its line ends,
   * with all calls, so it has to dial again.
   * @param params what it is told first
   * @param body writes the bytes that follow; absent: the caller writes to the stream of the answer
   * @throws an error of the host by its name, HostAwayError if the line breaks or the host does not answer in time,
   *   LineBroken, or the signal's reason
   */
  async open(
    method: string,
    params: unknown,
    { signal, body, answerMs = this.#bounds.answerMs, quietMs }: CallOptions = {},
  ): Promise<Answered & { readonly stream: ClientHttp2Stream }> {
    signal?.throwIfAborted()
    const stream = this.#request(`${CALL_PATH}${method}`)
    writeFrame(stream, params)
    const taken = quietMs === undefined ? undefined : new TakenBytes(stream)
    using inTime = new Deadline(
      quietMs ?? answerMs,
      'the host did not answer in time',
      signal,
      () => taken?.moved() ?? false,
    )
    const abort = () => stream.close(constants.NGHTTP2_CANCEL)
    signal?.addEventListener('abort', abort, { once: true })
    try {
      // An answer may come before all of the body is read, and then it counts.
      void body?.(stream).catch(() => stream.close(constants.NGHTTP2_CANCEL))
      const answer = await readFrame(stream, this.#bounds.valueBytes, inTime.signal)
      if (isObject(answer) && 'error' in answer) throw receivedError(answer['error'], this.#options.errors)
      if (!isObject(answer) || !('value' in answer)) throw new LineBroken('not an answer')
      return { value: answer['value'], stream }
    } catch (error) {
      stream.close(constants.NGHTTP2_CANCEL)
      signal?.throwIfAborted()
      throw this.#whyOf(error)
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  /** Calls the host for a value alone. Whatever it says behind that is not heard. */
  async ask(method: string, params: unknown, options: CallOptions = {}): Promise<unknown> {
    const { value, stream } = await this.open(method, params, { body: async to => void to.end(), ...options })
    stream.resume()
    stream.close(constants.NGHTTP2_NO_ERROR)
    return value
  }

  /** Ends the line after the calls under way. The host dials again. */
  goAway(): void {
    this.#session.close()
    for (const stream of this.#unused) stream.close(constants.NGHTTP2_CANCEL)
  }

  /** Ends the line at once. */
  destroy(why: Error): void {
    this.#fault ??= why
    this.#session.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.destroy(new HostAwayError('this process has let the host go'))
    await this.closed
  }

  #request(path: string): ClientHttp2Stream {
    if (!this.isOpen) throw new HostAwayError('the line to the host is closed', { cause: this.#fault })
    const stream = this.#session.request({ ':method': 'POST', ':path': path }, { endStream: false })
    // Whoever reads or writes sees that it is over; nobody may be listening.
    return bytesOnly(stream).on('error', () => undefined)
  }

  /** Gives the host streams that it may use when it likes. One that it closes unused is not replaced. */
  #offer(answer: Answerer): void {
    while (this.isOpen && this.#unused.size < OFFERS && this.#used < MAX_OFFERED) {
      const stream = this.#request(OFFER_PATH)
      this.#unused.add(stream)
      stream.once('close', () => this.#unused.delete(stream))
      stream.once('response', () => {
        this.#unused.delete(stream)
        this.#used += 1
        stream.once('close', () => {
          this.#used -= 1
          this.#offer(answer)
        })
        this.#offer(answer)
        void this.#answer(stream, answer)
      })
    }
  }

  async #answer(stream: ClientHttp2Stream, answer: Answerer): Promise<void> {
    const { answerMs, valueBytes } = this.#bounds
    using inTime = new Deadline(Math.min(FIRST_FRAME_MS, answerMs), 'the host did not say what it wants')
    try {
      answer(await readFrame(stream, Math.min(FIRST_FRAME_BYTES, valueBytes), inTime.signal), stream)
    } catch {
      stream.close(constants.NGHTTP2_CANCEL)
    }
  }

  /** A stream that broke with its line is a host that is away, and so is a host that does not answer. */
  #whyOf(error: unknown): unknown {
    const isOver = this.#session.destroyed || this.#session.closed
    if (error instanceof LineBroken && isOver) {
      return new HostAwayError('the line to the host broke', { cause: this.#fault ?? error })
    }
    if (!(error instanceof DeadlineOver)) return error
    const why = new HostAwayError(error.message, { cause: error })
    this.destroy(why)
    return why
  }
}

/** Writes the bytes behind a value, and ends the stream. */
export type Body = (stream: Duplex) => Promise<unknown>
