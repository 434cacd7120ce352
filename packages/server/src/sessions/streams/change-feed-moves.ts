import type { Wakeups } from '../../storage/postgres/wakeups.ts'

/** A missed wake-up costs this much, and nothing else. */
const POLL_MS = 15_000
/** Sessions remembered by name; if more move before they are taken, all are looked for. */
const MAX_NAMED = 1000

/** What a feed should look at next. */
export interface Look {
  readonly ids: readonly string[]
  /** Something may have moved that nobody named. */
  readonly back: boolean
}

/** Gathers which Sessions of an organization are said to have moved, for a feed that takes them when it can. */
export class Moves implements Disposable {
  readonly #named = new Set<string>()
  readonly #unsubscribe: () => void
  readonly #polling: NodeJS.Timeout
  #back = false
  #wake = () => {}

  /** @param topic of the organization, right above those of its Sessions */
  constructor(wakeups: Wakeups, topic: string) {
    this.#unsubscribe = wakeups.subscribe(topic, moved => {
      if (moved === null) this.lookBack()
      else this.#add(moved.slice(moved.lastIndexOf('/') + 1))
    })
    this.#polling = setInterval(() => this.lookBack(), POLL_MS)
  }

  lookBack(): void {
    this.#back = true
    this.#wake()
  }

  take(): Look {
    const look = { ids: [...this.#named], back: this.#back }
    this.#named.clear()
    this.#back = false
    return look
  }

  /** For a look that failed. */
  putBack({ ids }: Look): void {
    for (const id of ids) this.#named.add(id)
    this.lookBack()
  }

  /** Resolves once there is something to take, or the signal aborts. */
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
