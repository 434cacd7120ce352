import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../../context.ts'
import type { SessionKey } from '../../kit/session-key.ts'
import { DatabaseUnavailable } from '../../storage/postgres/database-errors.ts'
import { topics } from '../../storage/postgres/wakeups.ts'
import { findNewestSequence } from './event-sql.ts'
import { type Frame, readFrames, SessionTail } from './session-tail.ts'

/** Most bytes yielded at once, so that a reader's backpressure is felt between them. */
const CHUNK_BYTES = 256 * 1024
/** A missed wake-up costs this much, and nothing else. */
const POLL_MS = 5_000
/** Between two tries while the database is away. */
const RETRY_MS = 250

interface Shared {
  readonly tail: SessionTail
  readonly close: () => void
  followers: number
}

/** Follows the logs of Sessions for all the streams of this process. */
export class EventStreams {
  readonly #context: Context
  readonly #shared = new Map<string, Promise<Shared>>()

  constructor(context: Context) {
    this.#context = context
  }

  /** Sessions that are followed. */
  get tails(): number {
    return this.#shared.size
  }

  /**
   * Yields frames after a sequence, backfill and live tail as one: bytes that hold whole frames, in order, each once,
   * until the signal aborts. It subscribes before it reads, so nothing appended in between can be missed; it takes what
   * comes next from the shared tail where that has it and from the table where it has not, so there is no moment of
   * cutover to get wrong.
   */
  async *follow(key: SessionKey, after: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const shared = await this.#patiently(() => this.#join(key), signal)
    if (shared === null) return
    const { tail } = shared
    try {
      let position = after
      while (!signal.aborted) {
        await tail.passed(position, signal)
        if (signal.aborted) return
        const kept = tail.keptAfter(position)
        const frames = kept.length > 0 ? kept : await this.#readPage(key, position, signal)
        for (let start = 0; start < frames.length; ) {
          const chunk: Uint8Array[] = []
          let bytes = 0
          for (; start < frames.length && bytes < CHUNK_BYTES; start += 1) {
            const frame = frames[start]
            if (frame === undefined) break
            chunk.push(frame.bytes)
            bytes += frame.bytes.length
            position = frame.sequence
          }
          yield chunk.length === 1 && chunk[0] !== undefined ? chunk[0] : Buffer.concat(chunk, bytes)
        }
      }
    } finally {
      this.#leave(key, shared)
    }
  }

  async #readPage(key: SessionKey, after: number, signal: AbortSignal): Promise<readonly Frame[]> {
    return (await this.#patiently(() => readFrames(this.#context.db, key, after), signal)) ?? []
  }

  /**
   * Asks however long the database is away: a stream that waits loses nothing, a broken one costs more.
   * @returns null once the signal has aborted
   */
  async #patiently<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T | null> {
    while (!signal.aborted) {
      try {
        return await ask()
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) throw error
        await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined)
      }
    }
    return null
  }

  async #join(key: SessionKey): Promise<Shared> {
    const name = topics.session(key.organizationId, key.sessionId)
    let opening = this.#shared.get(name)
    if (opening === undefined) {
      opening = this.#open(key, name)
      this.#shared.set(name, opening)
      opening.catch(() => this.#shared.delete(name))
    }
    const shared = await opening
    shared.followers += 1
    // The last follower may have left, and closed it, while this one waited.
    if (this.#shared.get(name) !== opening) {
      shared.followers -= 1
      return this.#join(key)
    }
    return shared
  }

  async #open(key: SessionKey, name: string): Promise<Shared> {
    const { db, wakeups, log } = this.#context
    let refresh = () => {}
    const unsubscribe = wakeups.subscribe(name, () => refresh())
    try {
      const tail = new SessionTail(db, key, await findNewestSequence(db, key))
      refresh = () => {
        // A database that is away is asked again by the next wake-up or poll.
        tail.refresh().catch(error => log.warn({ err: error }, 'a tail could not be read'))
      }
      const polling = setInterval(refresh, POLL_MS)
      refresh()
      return {
        tail,
        followers: 0,
        close: () => {
          clearInterval(polling)
          unsubscribe()
        },
      }
    } catch (error) {
      unsubscribe()
      throw error
    }
  }

  #leave(key: SessionKey, shared: Shared): void {
    shared.followers -= 1
    if (shared.followers > 0) return
    shared.close()
    this.#shared.delete(topics.session(key.organizationId, key.sessionId))
  }
}
