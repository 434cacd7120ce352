/** A signal that also aborts after a time, until it is disposed of: timers of many short calls would pile up. */
export class Deadline implements Disposable {
  readonly #controller = new AbortController()
  #timer: NodeJS.Timeout
  readonly #parent: AbortSignal | undefined
  readonly #abort = () => this.#controller.abort(this.#parent?.reason)

  /**
   * @param reason of the error after the time
   * @param moved asked when the time is over; if it returns true, the time begins again
   */
  constructor(ms: number, reason: string, parent?: AbortSignal, moved: () => boolean = () => false) {
    this.#parent = parent
    const strike = () => {
      if (!moved()) return this.#controller.abort(new DeadlineOver(reason))
      this.#timer = setTimeout(strike, ms).unref()
    }
    this.#timer = setTimeout(strike, ms).unref()
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

/** Returns the deadline that an error is, or has as its cause. */
export function deadlineOf(error: unknown): DeadlineOver | undefined {
  for (let one = error; one instanceof Error; one = one.cause) if (one instanceof DeadlineOver) return one
  return undefined
}
