import type { Queryable } from '../storage/database.ts'
import type { Look } from './change-feed-moves.ts'
import { type Change, changesOf, changesSince, type Owner, takeSnapshot } from './change-feed-sql.ts'
import { Told } from './change-feed-told.ts'

/**
 * A change is dated before it is committed, so a look back must reach past the longest transaction: what was dated
 * earlier than that before the last look was visible then. Statements are bounded by 10 s and idle transactions by 30 s.
 */
const OVERLAP_MS = 60_000
/** A reader this far behind reads the Session list again instead. */
const MAX_AGE_MS = 60 * 60 * 1000
const MAX_CHANGES = 1000

const encoder = new TextEncoder()

/** One reader's place in the changes of an owner's Sessions, and the frames that bring it on. */
export class FeedReader {
  readonly #db: Queryable
  readonly #owner: Owner
  readonly #told = new Told()
  /** The reader's cursor: the time of the newest change it was told of, never beyond this process's clock. */
  #since: number
  /**
   * What was committed before the feed began is not news, whenever it is heard of, and what was not is, whatever time it
   * bears. Null where the reader's own cursor says what it knows.
   */
  #begun: string | null

  /** The frame that the feed starts with: an id, so that it can be resumed however early it is cut off, or a reset. */
  readonly first: Uint8Array | null

  private constructor(db: Queryable, owner: Owner, since: number, begun: string | null, isLate = false) {
    this.#db = db
    this.#owner = owner
    this.#since = since
    this.#begun = begun
    const place = encoder.encode(`id: ${since}\n\n`)
    this.first = isLate ? this.#frame({ reset: true }) : begun === null ? null : place
  }

  /** Begins now, or where a reader was cut off, unless that is too long ago. */
  static async open(db: Queryable, owner: Owner, cursor: number | undefined, now: number): Promise<FeedReader> {
    const isLate = cursor !== undefined && now - cursor > MAX_AGE_MS
    if (cursor === undefined || isLate) return new FeedReader(db, owner, now, await takeSnapshot(db), isLate)
    return new FeedReader(db, owner, Math.min(cursor, now), null)
  }

  /** Frames for what moved, in the order of time; a reset where that is too much; null where nothing did. */
  async read(look: Look, now: () => number): Promise<Uint8Array | null> {
    const news = await this.#news(look)
    if (news.length > MAX_CHANGES) return this.#reset(now())
    if (news.length === 0) return null
    const frames = news.map(change => this.#notice(change, now()))
    this.#told.forget(new Date(this.#since - 2 * OVERLAP_MS))
    return Buffer.concat(frames)
  }

  /** Begins anew from now on. */
  async #reset(now: number): Promise<Uint8Array> {
    this.#begun = await takeSnapshot(this.#db)
    this.#told.clear()
    this.#since = now
    return this.#frame({ reset: true })
  }

  async #news({ ids, back }: Look): Promise<Change[]> {
    const from = new Date(this.#since - OVERLAP_MS)
    // What was told may fill the look back; behind it there must be room for one more than is too much.
    const limit = MAX_CHANGES + 1 + this.#told.size
    const found = back ? await changesSince(this.#db, this.#owner, from, this.#begun, limit) : []
    const named = await changesOf(this.#db, this.#owner, ids, this.#begun)
    const changes = new Map([...found, ...named].map(change => [change.id, change]))
    return [...changes.values()]
      .filter(change => !this.#told.has(change))
      .sort((a, b) => a.updated_at.getTime() - b.updated_at.getTime())
  }

  /** Each notice has its own place, so that a reader cut off amid many resumes behind the last that reached it. */
  #notice(change: Change, now: number): Uint8Array {
    this.#since = Math.min(Math.max(this.#since, change.updated_at.getTime()), now)
    this.#told.add(change)
    return this.#frame({
      sessionId: change.id,
      lastEventSequence: change.last_event_sequence,
      updatedAt: change.updated_at,
    })
  }

  #frame(data: object): Uint8Array {
    return encoder.encode(`id: ${this.#since}\ndata: ${JSON.stringify(data)}\n\n`)
  }
}
