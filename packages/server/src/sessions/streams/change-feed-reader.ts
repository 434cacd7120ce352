import type { Queryable } from '../../storage/postgres/database.ts'
import type { Look } from './change-feed-moves.ts'
import { type Change, type Owner, readChanges, type Snapshot, takeSnapshot } from './change-feed-sql.ts'
import { Told } from './change-feed-told.ts'

/** With more news than this, a reader reads the Session list again instead. */
const MAX_CHANGES = 1000
/** Transactions behind which the number that a row bears could mean a later one. */
const MAX_DISTANCE = 2n ** 30n
/** Bits of a cursor that count the frames of one position. */
const FRAME_BITS = 20n
/** No transaction that writes has a smaller number. */
const FIRST_POSITION = 3n

const encoder = new TextEncoder()

/**
 * One reader's place in the changes of an owner's Sessions, and the frames that bring it on.
 *
 * A place is the number of a transaction: every one below it has ended, and what it changed was told. So one that takes
 * long, however long, keeps the place where it is until it has ended; nothing depends on clocks. The cursor is the place
 * with a count of the frames that were sent from there, which makes each one's id its own.
 */
export class FeedReader {
  readonly #db: Queryable
  readonly #owner: Owner
  readonly #told = new Told()
  #position: bigint
  #cursor: bigint
  /**
   * What was committed before the feed began is not news, whenever it is heard of, and what was not is. Null where the
   * reader's own cursor says what it knows.
   */
  #begun: Snapshot | null

  /** The frame that the feed starts with: an id, so that it can be resumed however early it is cut off, or a reset. */
  readonly first: Uint8Array | null

  private constructor(db: Queryable, owner: Owner, at: { cursor: bigint; begun: Snapshot | null; isLate: boolean }) {
    this.#db = db
    this.#owner = owner
    this.#position = at.cursor >> FRAME_BITS
    this.#cursor = at.cursor
    this.#begun = at.begun
    const place = encoder.encode(`id: ${at.cursor}\n\n`)
    this.first = at.isLate ? frame(at.cursor, { reset: true }) : at.begun === null ? null : place
  }

  /** Begins now, or where a reader was cut off, unless this database knows no such place or it is too far behind. */
  static async open(db: Queryable, owner: Owner, cursor: bigint | undefined): Promise<FeedReader> {
    const begun = await takeSnapshot(db)
    const now = begun.horizon << FRAME_BITS
    if (cursor === undefined) return new FeedReader(db, owner, { cursor: now, begun, isLate: false })
    const position = cursor >> FRAME_BITS
    const known = position >= FIRST_POSITION && position <= begun.horizon && begun.horizon - position <= MAX_DISTANCE
    return new FeedReader(
      db,
      owner,
      known ? { cursor, begun: null, isLate: false } : { cursor: now, begun, isLate: true },
    )
  }

  /** Frames for what moved; a reset where that is too much; null where nothing did. */
  async read(look: Look): Promise<Uint8Array | null> {
    // What was told may fill a look back; behind it there must be room for one more than is too much.
    const limit = MAX_CHANGES + 1 + this.#told.size
    const from = this.#position
    const ids = look.back ? null : look.ids
    const { changes, read } = await readChanges(this.#db, this.#owner, { from, begun: this.#begun, ids }, limit)
    const news = changes.filter(change => !this.#told.has(change))
    if (news.length > MAX_CHANGES) return this.#reset()
    const frames = news.slice(0, -1).map(change => this.#notice(change))
    // Only a look at everything moves the place, and only with its last frame: a reader may be cut off before.
    if (look.back) this.#moveTo(read.horizon)
    frames.push(...news.slice(-1).map(change => this.#notice(change)))
    if (look.back) this.#told.forget(this.#position)
    return frames.length === 0 ? null : Buffer.concat(frames)
  }

  /** Begins anew from now on. */
  async #reset(): Promise<Uint8Array> {
    this.#begun = await takeSnapshot(this.#db)
    this.#told.clear()
    this.#moveTo(this.#begun.horizon)
    return frame(this.#next(), { reset: true })
  }

  #moveTo(position: bigint): void {
    if (position <= this.#position) return
    this.#position = position
    this.#cursor = (position << FRAME_BITS) - 1n
  }

  /** Null once a position has no cursor left, which takes a million frames during one transaction: there is no id then. */
  #next(): bigint | null {
    if ((this.#cursor + 1n) >> FRAME_BITS > this.#position) return null
    this.#cursor += 1n
    return this.#cursor
  }

  #notice(change: Change): Uint8Array {
    this.#told.add(change)
    const { id, last_event_sequence: lastEventSequence, updated_at: updatedAt } = change
    return frame(this.#next(), { sessionId: id, lastEventSequence, updatedAt })
  }
}

const frame = (cursor: bigint | null, data: object) =>
  encoder.encode(`${cursor === null ? '' : `id: ${cursor}\n`}data: ${JSON.stringify(data)}\n\n`)
