/** The period over which clients reconnect when a server stops. */
const spreadMs = 30_000

/** The streams that this process serves, so that it can end them when it stops. */
export class OpenStreams {
  readonly #stops = new Set<(retryMs: number) => void>()
  #stopped = false

  /**
   * Registers a stream; one that begins after `stopAll` is ended at once, since its request was admitted before. Returns a
   * function that removes it.
   */
  add(stop: (retryMs: number) => void): () => void {
    this.#stops.add(stop)
    if (this.#stopped) stop(delayMs())
    return () => {
      this.#stops.delete(stop)
    }
  }

  get size(): number {
    return this.#stops.size
  }

  /** Ends all streams. Each client gets a random reconnection delay, so that they do not return all at once. */
  stopAll(): void {
    this.#stopped = true
    for (const stop of [...this.#stops]) stop(delayMs())
  }
}

const delayMs = (): number => Math.floor(Math.random() * spreadMs)
