import { setTimeout as sleep } from 'node:timers/promises'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { BlobsUnavailable } from '@berth/platform/storage/blobs/blobs.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Context } from '../../context.ts'
import { findNewestSequence } from './event-sql.ts'
import { type Frame, readFrames, SessionTail } from './session-tail.ts'

/** Most bytes yielded at once, so that the reader's backpressure applies between chunks. */
const CHUNK_BYTES = 256 * 1024
/** Longest delay after a missed wake-up while they may be lost; nothing else depends on it. */
const POLL_MS = 5_000
/** While wake-ups arrive, one poll in six reads: a hint is then lost only with its process. */
const CALM = 6
/** Pause between two tries while the database is away. */
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

  /** Number of Sessions that are followed. */
  get tails(): number {
    return this.#shared.size
  }

  /**
   * Yields the frames after a sequence, backfill and live tail as one: chunks of whole frames, in order, each once,
   * until the signal aborts. It subscribes before it reads, so it misses no Event that is appended in between. It takes
   * the next frames from the shared tail if they are there, and from the table if not, so there is no cutover to get
   * wrong.
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
    return (await this.#patiently(() => readFrames(this.#context, key, after), signal)) ?? []
  }

  /**
   * Retries for as long as the database, or the store of a sealed log, is away: a stream that waits loses nothing, and a broken one costs more.
   * @returns null once the signal has aborted
   */
  async #patiently<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T | null> {
    while (!signal.aborted) {
      try {
        return await ask()
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable || error instanceof BlobsUnavailable)) throw error
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
    // While this follower waited, the last other one may have left and closed the tail.
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
      const tail = new SessionTail(this.#context, key, await findNewestSequence(db, key))
      refresh = () => {
        // The next wake-up or poll asks again if the database is away.
        tail.refresh().catch(error => log.warn({ err: error }, 'could not read new events; the next poll tries again'))
      }
      let polls = 0
      const polling = setInterval(() => {
        polls += 1
        if (!wakeups.live || polls % CALM === 0) refresh()
      }, POLL_MS)
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
