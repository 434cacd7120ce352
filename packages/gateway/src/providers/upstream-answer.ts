import type { Dispatcher } from 'undici'

/** Bytes that may wait for their reader before the provider's connection is paused. */
const roomBytes = 64 * 1024

type Headers = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2]

/** The reasons of requests that were given up before a byte went to the provider. */
const unsent = new WeakSet<object>()

/** Returns whether a request was given up before a byte of the attempt under way went to the provider. */
export const wasUnsent = ({ reason }: AbortSignal): boolean => unsent.has(Object(reason))

/** Notes that nothing of an attempt went to the provider. @returns the reason why it was given up */
export function markUnsent({ reason }: AbortSignal): unknown {
  if (typeof reason === 'object' && reason !== null) unsent.add(reason)
  return reason
}

/**
 * A provider's answer: its head, and a body for one reader, which gets all bytes that have arrived at once. The
 * connection feeds it directly. A Node or web stream each cost a request more than the rest of its path.
 */
export class UpstreamAnswer implements Dispatcher.DispatchHandler {
  status = 0
  headers: Headers = {}
  readonly #signal: AbortSignal
  readonly #begun = Promise.withResolvers<UpstreamAnswer>()
  #controller: Dispatcher.DispatchController | null = null
  #chunks: Buffer[] = []
  #bytes = 0
  #reader: PromiseWithResolvers<Buffer | null> | null = null
  #end: { readonly error: unknown } | 'whole' | null = null
  #unwanted = false

  private constructor(signal: AbortSignal) {
    this.#signal = signal
  }

  /**
   * Sends a request.
   * @returns the answer when its head has arrived
   * @throws the connection's error, or the signal's reason
   */
  static ask(
    dispatcher: Dispatcher,
    request: Dispatcher.DispatchOptions,
    signal: AbortSignal,
  ): Promise<UpstreamAnswer> {
    if (signal.aborted) throw markUnsent(signal)
    const answer = new UpstreamAnswer(signal)
    signal.addEventListener('abort', answer.#leave)
    dispatcher.dispatch(request, answer)
    return answer.#begun.promise
  }

  /**
   * Returns the bytes since the last read, or null at the end.
   * @throws the error that broke the connection, after the earlier bytes were read
   */
  read(): Promise<Buffer | null> {
    const [only] = this.#chunks
    if (only !== undefined) {
      const read = this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks, this.#bytes)
      this.#drop()
      if (this.#controller?.paused === true) this.#controller.resume()
      return Promise.resolve(read)
    }
    if (this.#end === 'whole') return Promise.resolve(null)
    if (this.#end !== null) return Promise.reject(this.#end.error)
    this.#reader = Promise.withResolvers()
    return this.#reader.promise
  }

  /** Returns the rest of the body, or null if it exceeds `maxBytes`; the connection is then closed. */
  async readAll(maxBytes: number): Promise<Buffer | null> {
    const chunks: Buffer[] = []
    let bytes = 0
    for (let chunk = await this.read(); chunk !== null; chunk = await this.read()) {
      bytes += chunk.length
      if (bytes > maxBytes) {
        this.close()
        return null
      }
      chunks.push(chunk)
    }
    const [only] = chunks
    return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, bytes)
  }

  /** Closes the connection if the answer has not ended. */
  close(): void {
    if (this.#end === null) this.#abort(new Error('the answer was abandoned'))
  }

  /** Drains the answer, if it ends within a time, so that the connection can be reused. */
  finish(withinMs: number): void {
    this.#unwanted = true
    this.#drop()
    if (this.#end !== null) return
    this.#controller?.resume()
    const cut = setTimeout(() => this.close(), withinMs)
    this.#reader = Promise.withResolvers()
    const settled = () => clearTimeout(cut)
    this.#reader.promise.then(settled, settled)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#end !== null && this.#end !== 'whole') controller.abort(asError(this.#end.error))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Headers): void {
    if (status < 200) return
    this.status = status
    this.headers = headers
    this.#begun.resolve(this)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#unwanted || this.#end !== null) return
    if (this.#reader !== null) {
      this.#reader.resolve(chunk)
      this.#reader = null
      return
    }
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes >= roomBytes) controller.pause()
  }

  onResponseEnd(): void {
    this.#settle('whole')
    this.#reader?.resolve(null)
    this.#reader = null
  }

  onResponseError(_: unknown, error: Error): void {
    this.#fail(error)
  }

  readonly #leave = () => {
    this.#drop()
    if (this.#controller === null) markUnsent(this.#signal)
    this.#abort(this.#signal.reason)
  }

  #abort(reason: unknown): void {
    if (this.#end !== null) return
    this.#fail(reason)
    this.#controller?.abort(asError(reason))
  }

  #fail(error: unknown): void {
    if (this.#end !== null) return
    this.#settle({ error })
    this.#begun.reject(error)
    this.#reader?.reject(error)
    this.#reader = null
  }

  #settle(end: { readonly error: unknown } | 'whole'): void {
    this.#end ??= end
    this.#signal.removeEventListener('abort', this.#leave)
  }

  #drop(): void {
    this.#chunks = []
    this.#bytes = 0
  }
}

const asError = (reason: unknown) => (reason instanceof Error ? reason : new Error('aborted', { cause: reason }))
