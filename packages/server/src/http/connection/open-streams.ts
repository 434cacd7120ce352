/** How long clients are spread over when a server stops (interface 8.4). */
const spreadMs = 30_000

/** The streams a process serves, so that it can end them when it stops. */
export class OpenStreams {
  readonly #stops = new Set<(retryMs: number) => void>()

  /** Counts a stream in until the returned function is called. */
  add(stop: (retryMs: number) => void): () => void {
    this.#stops.add(stop)
    return () => {
      this.#stops.delete(stop)
    }
  }

  get size(): number {
    return this.#stops.size
  }

  /** Ends all streams; each client is told another moment to come back, so that they do not come at once. */
  stopAll(): void {
    for (const stop of [...this.#stops]) stop(Math.floor(Math.random() * spreadMs))
  }
}
