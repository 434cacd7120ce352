import type { Event } from '@berth/contract'
import { createParser } from 'eventsource-parser'

/** Far above any Event. A frame of this size means a broken stream, and must not fill the memory. */
const maxFrameCharacters = 16 * 1024 * 1024

/**
 * Converts the bytes of one stream to Events. It skips a frame that is not an Event: the missing sequence shows as a
 * gap, and the follower repairs gaps from the log. It never returns a frame that the stream's end cuts off.
 */
export class FrameReader {
  readonly #decoder = new TextDecoder()
  readonly #events: Event[] = []
  #overflow: Error | null = null
  #retryMs: number | null = null
  readonly #parser = createParser({
    maxBufferSize: maxFrameCharacters,
    onEvent: frame => {
      const event = parseEvent(frame.data)
      if (event !== null) this.#events.push(event)
    },
    onRetry: ms => {
      this.#retryMs = ms
    },
    onError: error => {
      if (error.type === 'max-buffer-size-exceeded') this.#overflow = error
    },
  })

  /** The reconnection time that the server asked for last. */
  get retryMs(): number | null {
    return this.#retryMs
  }

  /**
   * Reads a chunk and returns the Events that it completes.
   * @throws Error if a frame exceeds the limit; the reader is unusable afterwards
   */
  feed(bytes: Uint8Array): Event[] {
    this.#parser.feed(this.#decoder.decode(bytes, { stream: true }))
    if (this.#overflow !== null) throw this.#overflow
    return this.#events.splice(0)
  }
}

function parseEvent(data: string): Event | null {
  try {
    const value: unknown = JSON.parse(data)
    return isEvent(value) ? value : null
  } catch {
    return null
  }
}

function isEvent(value: unknown): value is Event {
  if (typeof value !== 'object' || value === null) return false
  if (!('sequence' in value) || !('type' in value)) return false
  return Number.isSafeInteger(value.sequence) && typeof value.type === 'string'
}
