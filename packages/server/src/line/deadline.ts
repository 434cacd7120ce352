/** A signal that also aborts after a time, until it is disposed of: timers of many short calls would pile up. */
export class Deadline implements Disposable {
  readonly #controller = new AbortController()
  readonly #timer: NodeJS.Timeout
  readonly #parent: AbortSignal | undefined
  readonly #abort = () => this.#controller.abort(this.#parent?.reason)

  /** @param words of the error after the time */
  constructor(ms: number, words: string, parent?: AbortSignal) {
    this.#parent = parent
    this.#timer = setTimeout(() => this.#controller.abort(new DeadlineOver(words)), ms)
    this.#timer.unref()
    parent?.addEventListener('abort', this.#abort, { once: true })
    if (parent?.aborted) this.#abort()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    this.#parent?.removeEventListener('abort', this.#abort)
  }
}

/** The other side took too long. */
export class DeadlineOver extends Error {
  override readonly name = 'DeadlineOver'
}
