import { addAbortListener } from 'node:events'
import { constants, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { bytesOnly } from './bytes-only.ts'
import { Deadline } from './deadline.ts'
import { readFrame, writeFrame } from './frame.ts'
import { CALL_PATH, OFFER_PATH } from './line.ts'
import { HostAwayError, sentError } from './line-error.ts'
import { bindTo, type LineBounds, lineBounds, sessionOptions, watch, widen } from './session.ts'

/** One call of the service. */
export interface ServedCall {
  readonly params: unknown
  /** Aborted when the caller has left. */
  readonly signal: AbortSignal
  /** The bytes behind the value. */
  readonly stream: Duplex
  /** Answers early, for a call whose bytes go on both ways; its handler then owns the stream. */
  answer(value: unknown): Duplex
}

/** Answers a call: with the value that it returns, unless it has answered early. */
export type CallHandler = (call: ServedCall) => Promise<unknown>

/** The calls that a host answers, by name. */
export type CallHandlers = Readonly<Record<string, CallHandler>>

/** The host's end of a line. */
export interface ServedLine extends AsyncDisposable {
  readonly isOpen: boolean
  /** Resolves when the line is over, with what ended it, if that is known. */
  readonly closed: Promise<Error | null>
  /**
   * Opens a stream to the service and says what it is for.
   * @throws HostAwayError if the line is over, the signal's reason
   */
  callBack(message: unknown, signal: AbortSignal): Promise<Duplex>
  /** Ends the line once the calls under way are over. */
  goAway(): void
  destroy(): void
}

/** Serves the line on a socket that this process has dialled. */
export function serveLine(socket: Duplex, handlers: CallHandlers, some: Partial<LineBounds> = {}): ServedLine {
  const bounds = { ...lineBounds, ...some }
  // The declared type is narrower than what it takes.
  const session: ServerHttp2Session = performServerHandshake(socket as Socket, sessionOptions(bounds))
  const offers = new Offers()
  const closed = Promise.withResolvers<Error | null>()
  let fault: Error | null = null
  session.on('error', error => {
    fault ??= error
  })
  session.once('close', () => {
    offers.close()
    closed.resolve(fault)
  })
  bindTo(socket, session)
  session.on('stream', (stream, headers) => {
    bytesOnly(stream).on('error', () => undefined)
    const path = headers[':path'] ?? ''
    if (path === OFFER_PATH) return offers.add(stream)
    const name = path.startsWith(CALL_PATH) ? path.slice(CALL_PATH.length) : ''
    const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined
    void answerCall(stream, handler, bounds)
  })
  widen(session)
  watch(session, bounds)
  return {
    get isOpen() {
      return !session.closed && !session.destroyed
    },
    closed: closed.promise,
    callBack: (message, signal) => offers.take(message, signal),
    goAway() {
      session.close()
      offers.close()
    },
    destroy: () => session.destroy(),
    async [Symbol.asyncDispose]() {
      session.destroy()
      await closed.promise
    },
  }
}

async function answerCall(
  stream: ServerHttp2Stream,
  handler: CallHandler | undefined,
  { valueBytes, answerMs }: LineBounds,
): Promise<void> {
  const left = new AbortController()
  stream.once('close', () => left.abort(new Error('the caller has left')))
  let isAnswered = false
  const answer = (value: unknown) => {
    isAnswered = true
    writeFrame(stream, { value: value ?? null })
    return stream
  }
  const readParams = async () => {
    using inTime = new Deadline(answerMs, 'the call says nothing', left.signal)
    return await readFrame(stream, valueBytes, inTime.signal)
  }
  try {
    stream.respond({ ':status': 200 })
    const params = await readParams()
    if (handler === undefined) throw new TypeError('this host knows no such call')
    const value = await handler({ params, signal: left.signal, stream, answer })
    if (isAnswered) return
    answer(value)
    stream.end()
    stream.resume()
  } catch (error) {
    if (isAnswered || stream.destroyed) return stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    writeFrame(stream, { error: sentError(error) })
    stream.end()
    stream.resume()
  }
}

/** Calls of this host that wait for a stream. */
const MAX_WAITING = 1_024

/** The streams that the service has offered, and the calls that wait for one. */
class Offers {
  readonly #ready: ServerHttp2Stream[] = []
  readonly #waiting: ((stream: ServerHttp2Stream | null) => void)[] = []
  #isClosed = false

  add(stream: ServerHttp2Stream): void {
    const next = this.#waiting.shift()
    if (this.#isClosed) stream.close(constants.NGHTTP2_CANCEL)
    else if (next !== undefined) next(stream)
    else this.#ready.push(stream)
  }

  async take(message: unknown, signal: AbortSignal): Promise<Duplex> {
    signal.throwIfAborted()
    let stream: ServerHttp2Stream | null | undefined
    do stream = this.#ready.shift()
    while (stream?.destroyed)
    stream ??= await this.#wait(signal)
    if (stream === null || stream.destroyed) throw new HostAwayError('the line to the service is closed')
    stream.respond({ ':status': 200 })
    writeFrame(stream, message)
    return stream
  }

  close(): void {
    this.#isClosed = true
    for (const next of this.#waiting.splice(0)) next(null)
    for (const stream of this.#ready.splice(0)) stream.close(constants.NGHTTP2_CANCEL)
  }

  async #wait(signal: AbortSignal): Promise<ServerHttp2Stream | null> {
    if (this.#isClosed) return null
    if (this.#waiting.length >= MAX_WAITING) throw new HostAwayError('too many requests wait for the service')
    const { promise, resolve, reject } = Promise.withResolvers<ServerHttp2Stream | null>()
    const abort = () => {
      this.#waiting.splice(this.#waiting.indexOf(resolve), 1)
      reject(signal.reason)
    }
    this.#waiting.push(resolve)
    using _listener = addAbortListener(signal, abort)
    return await promise
  }
}
