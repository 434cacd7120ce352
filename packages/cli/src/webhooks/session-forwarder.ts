import { type BerthClient, BerthConnectionError, BerthError, type Event } from '@berth/client'

/** Sessions whose logs are read and delivered at once. */
const AT_ONCE = 8
/** Time until a log that could not be read is read again. */
const READ_AGAIN_MS = 2_000
const PAGE = 100

export interface ForwarderOptions {
  readonly client: BerthClient
  /** Called with each Event of a Session in order; the next one waits until it resolves. */
  readonly deliver: (event: Event) => Promise<void>
  /** Ends the work: nothing begins after it aborts. */
  readonly signal: AbortSignal
}

/**
 * Hands on the Events of many Sessions, each Event once and each Session's in order. Sessions wait for one another only
 * if more than a few have something to tell.
 */
export class SessionForwarder {
  readonly #options: ForwarderOptions
  /** Sequence up to which a Session's Events were handed on. */
  readonly #cursors = new Map<string, number>()
  /** Newest sequence known, of Sessions that are behind it. */
  readonly #heads = new Map<string, number>()
  readonly #working = new Map<string, Promise<void>>()
  readonly #failed = Promise.withResolvers<never>()

  constructor(options: ForwarderOptions) {
    this.#options = options
    this.#failed.promise.catch(() => undefined)
  }

  /** Rejects once a log is refused for good. */
  get failure(): Promise<never> {
    return this.#failed.promise
  }

  /** Says where a Session stands; Events up to there are not handed on. */
  skipTo(sessionId: string, sequence: number): void {
    this.#cursors.set(sessionId, sequence)
  }

  /** Says how far a Session has moved. A Session that is not known yet is handed on from its beginning. */
  moved(sessionId: string, sequence: number): void {
    if (sequence <= (this.#cursors.get(sessionId) ?? 0)) return
    this.#heads.set(sessionId, Math.max(sequence, this.#heads.get(sessionId) ?? 0))
    this.#begin()
  }

  /** Resolves once nothing is being handed on any more. */
  async idle(): Promise<void> {
    while (this.#working.size > 0) await Promise.all(this.#working.values())
  }

  #begin(): void {
    for (const sessionId of this.#heads.keys()) {
      if (this.#working.size >= AT_ONCE || this.#options.signal.aborted) return
      if (this.#working.has(sessionId)) continue
      const work = this.#catchUp(sessionId)
        .catch(error => this.#failed.reject(error))
        .finally(() => {
          this.#working.delete(sessionId)
          this.#begin()
        })
      this.#working.set(sessionId, work)
    }
  }

  async #catchUp(sessionId: string): Promise<void> {
    const { deliver, signal } = this.#options
    for (;;) {
      const after = this.#cursors.get(sessionId) ?? 0
      if (after >= (this.#heads.get(sessionId) ?? 0) || signal.aborted) break
      for (const event of await this.#read(sessionId, after)) {
        if (signal.aborted) return
        await deliver(event)
        this.#cursors.set(sessionId, event.sequence)
      }
    }
    this.#heads.delete(sessionId)
  }

  async #read(sessionId: string, after: number): Promise<readonly Event[]> {
    const { client, signal } = this.#options
    try {
      return (await client.call('listEvents', { sessionId, query: { after, limit: PAGE } }, { signal })).events
    } catch (failure) {
      if (signal.aborted) return []
      const passes = failure instanceof BerthConnectionError || (failure instanceof BerthError && failure.status >= 429)
      if (!passes) throw failure
      await client.platform.sleep(READ_AGAIN_MS, signal).catch(() => undefined)
      return []
    }
  }
}
