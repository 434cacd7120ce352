import { createParser, type EventSourceMessage } from 'eventsource-parser'
import type { Event } from './generated/types.ts'

/** Far above any Event. A frame of this size means a broken stream, and must not fill the memory. */
const maxFrameCharacters = 16 * 1024 * 1024

/**
 * Converts the bytes of one stream to the results of `parse` for its frames, and skips null. It never
 * returns a frame that the stream's end cuts off.
 */
export class FrameReader<T> {
  readonly #decoder = new TextDecoder()
  readonly #frames: T[] = []
  #overflow: Error | null = null
  #retryMs: number | null = null
  readonly #parser: ReturnType<typeof createParser>

  constructor(parse: (frame: Pick<EventSourceMessage, 'id' | 'data'>) => T | null) {
    this.#parser = createParser({
      maxBufferSize: maxFrameCharacters,
      onEvent: message => {
        const frame = parse(message)
        if (frame !== null) this.#frames.push(frame)
      },
      onRetry: ms => {
        this.#retryMs = ms
      },
      onError: error => {
        if (error.type === 'max-buffer-size-exceeded') this.#overflow = error
      },
    })
  }

  /** The reconnection time that the server asked for last. */
  get retryMs(): number | null {
    return this.#retryMs
  }

  /**
   * Reads a chunk and returns the frames that it completes.
   * @throws Error if a frame exceeds the limit; the reader is unusable afterwards
   */
  feed(bytes: Uint8Array): T[] {
    this.#parser.feed(this.#decoder.decode(bytes, { stream: true }))
    if (this.#overflow !== null) throw this.#overflow
    return this.#frames.splice(0)
  }
}

/**
 * Returns the Event of a frame. A frame without one is skipped: the missing sequence shows as a gap, and the follower
 * repairs gaps from the log.
 */
export function parseEvent({ data }: Pick<EventSourceMessage, 'data'>): Event | null {
  const value = parseJson(data)
  return isEvent(value) ? value : null
}

/** Returns the value of a frame's data, or null if it is not JSON. */
export function parseJson(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return null
  }
}

function isEvent(value: unknown): value is Event {
  if (typeof value !== 'object' || value === null) return false
  const { sequence, type } = value as Partial<Event>
  return Number.isSafeInteger(sequence) && typeof type === 'string'
}
