import type { Event } from '@berth/contract'
import { createParser } from 'eventsource-parser'

/** No Event comes near this; a frame that does is a stream gone wrong, and must not fill the memory. */
const maxFrameCharacters = 16 * 1024 * 1024

/**
 * Turns the bytes of one stream into Events. A frame that is no Event is skipped: what it stood for shows up as a gap,
 * and gaps are repaired from the log. A frame that the stream's end cuts off is never delivered.
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

  /** The last reconnection time that the server asked for. */
  get retryMs(): number | null {
    return this.#retryMs
  }

  /** @throws Error when a frame outgrows every bound; the reader is unusable afterwards. */
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
