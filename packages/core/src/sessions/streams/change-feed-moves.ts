import type { Wakeups } from '@berth/platform/storage/postgres/wakeups.ts'

/** Longest delay after a missed wake-up; nothing else depends on it. */
const POLL_MS = 15_000
/** Sessions remembered by id; if more move before the feed takes them, it looks at all Sessions. */
const MAX_NAMED = 1000

/** The Sessions that a feed should read next. */
export interface FeedRead {
  readonly ids: readonly string[]
  /** A Session may have moved that no wake-up named. */
  readonly back: boolean
}

/** Gathers the Sessions that wake-ups name, until a feed takes them. */
export class Moves implements Disposable {
  readonly #named = new Set<string>()
  readonly #unsubscribe: () => void
  readonly #polling: NodeJS.Timeout | undefined
  #back = false
  #wake = () => {}

  /**
   * @param topic parent of the Sessions' topics
   * @param rescans whether to look at all Sessions now and then, in case a wake-up was missed
   */
  constructor(wakeups: Wakeups, topic: string, rescans = true) {
    this.#unsubscribe = wakeups.subscribe(topic, moved => {
      if (moved === null) this.rescan()
      else this.#add(moved.slice(moved.lastIndexOf('/') + 1))
    })
    if (rescans) this.#polling = setInterval(() => this.rescan(), POLL_MS)
  }

  rescan(): void {
    this.#back = true
    this.#wake()
  }

  take(): FeedRead {
    const read = { ids: [...this.#named], back: this.#back }
    this.#named.clear()
    this.#back = false
    return read
  }

  /** Puts back the moves of a read that failed. */
  putBack({ ids }: FeedRead): void {
    for (const id of ids) this.#named.add(id)
    this.rescan()
  }

  /** Resolves when there is something to take, or the signal aborts. */
  async some(signal: AbortSignal): Promise<void> {
    if (this.#named.size > 0 || this.#back || signal.aborted) return
    await new Promise<void>(resolve => {
      const end = () => {
        signal.removeEventListener('abort', end)
        resolve()
      }
      this.#wake = end
      signal.addEventListener('abort', end)
    })
  }

  [Symbol.dispose](): void {
    clearInterval(this.#polling)
    this.#unsubscribe()
  }

  #add(id: string): void {
    if (this.#named.size === MAX_NAMED) {
      this.#named.clear()
      this.#back = true
    }
    this.#named.add(id)
    this.#wake()
  }
}
