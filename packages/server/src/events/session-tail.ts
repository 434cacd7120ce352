import type { Queryable } from '../storage/database.ts'
import type { SessionKey } from './append.ts'
import { listEventsAfter } from './event-sql.ts'

const PAGE = 200
/** Frames kept for readers that are a little behind; one that falls further behind reads pages of its own. */
const KEPT_BYTES = 512 * 1024

/** An Event as the bytes of its server-sent frame, encoded once for all streams. */
export interface Frame {
  readonly sequence: number
  readonly bytes: Uint8Array
}

const encoder = new TextEncoder()

/** Frames of stored Events: `id` and `data`, and no `event` field, since clients read the type in the envelope. */
export async function readFrames(db: Queryable, key: SessionKey, after: number, limit: number): Promise<Frame[]> {
  const events = await listEventsAfter(db, key, after, limit)
  return events.map(({ sequence, envelope }) => ({
    sequence,
    bytes: encoder.encode(`id: ${sequence}\ndata: ${envelope}\n\n`),
  }))
}

/**
 * The live end of one Session's log in this process: however many streams follow the Session, what is appended is read
 * once.
 *
 * `newest` is the last sequence read here. `#kept` holds the frames up to it, contiguous, the oldest dropped first.
 * Streams hold positions, not queues, so a slow one costs no memory: it finds its next frame here, or in the table.
 */
export class SessionTail {
  readonly #db: Queryable
  readonly #key: SessionKey
  readonly #waiting = new Set<() => void>()
  #kept: Frame[] = []
  #keptBytes = 0
  #newest: number
  #reading: Promise<void> | null = null
  #again = false

  constructor(db: Queryable, key: SessionKey, newest: number) {
    this.#db = db
    this.#key = key
    this.#newest = newest
  }

  get newest(): number {
    return this.#newest
  }

  /** Frames after a sequence as far as they are kept; empty where the next one is not. */
  keptAfter(sequence: number): readonly Frame[] {
    const first = this.#kept[0]
    if (first === undefined || sequence + 1 < first.sequence || sequence >= this.#newest) return []
    return this.#kept.slice(sequence + 1 - first.sequence)
  }

  /** Reads what was appended. A call during a read is answered by one more read after it. */
  async refresh(): Promise<void> {
    this.#again = true
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null
    })
    await this.#reading
  }

  /** Resolves when `newest` has passed a sequence, or the signal aborts. */
  async passed(sequence: number, signal: AbortSignal): Promise<void> {
    while (this.#newest <= sequence && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#waiting.add(resolve)
      signal.addEventListener('abort', () => resolve(), { once: true })
      await promise
      this.#waiting.delete(resolve)
    }
  }

  async #read(): Promise<void> {
    while (this.#again) {
      this.#again = false
      const frames = await readFrames(this.#db, this.#key, this.#newest, PAGE)
      if (frames.length === PAGE) this.#again = true
      if (frames.length > 0) this.#keep(frames)
    }
  }

  #keep(frames: readonly Frame[]): void {
    for (const frame of frames) {
      this.#kept.push(frame)
      this.#keptBytes += frame.bytes.length
      this.#newest = frame.sequence
    }
    let dropped = 0
    while (this.#keptBytes > KEPT_BYTES && dropped < this.#kept.length) {
      this.#keptBytes -= this.#kept[dropped]?.bytes.length ?? 0
      dropped += 1
    }
    if (dropped > 0) this.#kept = this.#kept.slice(dropped)
    for (const resolve of [...this.#waiting]) resolve()
  }
}
