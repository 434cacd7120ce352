import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { LogSource } from '../../sealed-logs/read-sealed.ts'
import { readEventsWithin } from './read-log.ts'

const PAGE = { events: 200, bytes: 1024 * 1024 }
/** Size of the frames kept for readers slightly behind; a reader further behind reads pages of its own. */
const KEPT_BYTES = 512 * 1024

/** An Event as the bytes of its server-sent frame, encoded once for all streams. */
export interface Frame {
  readonly sequence: number
  readonly bytes: Uint8Array
}

const encoder = new TextEncoder()

/**
 * Reads the next frames of stored Events: `id` and `data`, and no `event` field, since clients read the type in the
 * envelope.
 */
export async function readFrames(source: LogSource, key: SessionKey, after: number): Promise<Frame[]> {
  const events = await readEventsWithin(source, key, after, PAGE)
  return events.map(({ sequence, envelope }) => ({
    sequence,
    bytes: encoder.encode(`id: ${sequence}\ndata: ${envelope}\n\n`),
  }))
}

/**
 * Follows the live end of one Session's log in this process, and reads each appended Event once, however many streams
 * follow the Session.
 *
 * `newest` is the last sequence read here. `#kept` holds the frames up to it, contiguous, the oldest dropped first.
 * Streams hold positions, not queues, so a slow one costs no memory: it finds its next frame here, or in the table.
 */
export class SessionTail {
  readonly #source: LogSource
  readonly #key: SessionKey
  readonly #waiting = new Set<() => void>()
  #kept: Frame[] = []
  #keptBytes = 0
  #newest: number
  #reading: Promise<void> | null = null
  #again = false

  constructor(source: LogSource, key: SessionKey, newest: number) {
    this.#source = source
    this.#key = key
    this.#newest = newest
  }

  get newest(): number {
    return this.#newest
  }

  /** Returns the kept frames after a sequence; none if the tail does not keep the next one. */
  keptAfter(sequence: number): readonly Frame[] {
    const first = this.#kept[0]
    if (first === undefined || sequence + 1 < first.sequence || sequence >= this.#newest) return []
    return this.#kept.slice(sequence + 1 - first.sequence)
  }

  /** Reads the appended Events. A call during a read causes one more read after it. */
  refresh(): Promise<void> {
    this.#again = true
    this.#reading ??= this.#read()
    return this.#reading
  }

  /** Resolves when `newest` has passed a sequence, or the signal aborts. */
  passed(sequence: number, signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      const check = () => {
        if (this.#newest <= sequence && !signal.aborted) return
        this.#waiting.delete(check)
        signal.removeEventListener('abort', check)
        resolve()
      }
      this.#waiting.add(check)
      signal.addEventListener('abort', check)
      check()
    })
  }

  async #read(): Promise<void> {
    try {
      while (this.#again) {
        this.#again = false
        const frames = await readFrames(this.#source, this.#key, this.#newest)
        if (isFull(frames)) this.#again = true
        if (frames.length > 0) this.#keep(frames)
      }
    } finally {
      // In the same step as the last check of `#again`, so that a call in between begins a read of its own.
      this.#reading = null
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
    for (const check of [...this.#waiting]) check()
  }
}

/** Returns true if there may be more Events after these frames. */
function isFull(frames: readonly Frame[]): boolean {
  return frames.length >= PAGE.events || frames.reduce((sum, { bytes }) => sum + bytes.length, 0) >= PAGE.bytes
}
