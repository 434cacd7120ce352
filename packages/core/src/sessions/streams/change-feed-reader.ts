import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { FeedRead } from './change-feed-moves.ts'
import { type Change, type Owner, readChanges, type Snapshot, takeSnapshot } from './change-feed-sql.ts'
import { DeliveredChanges } from './delivered-changes.ts'

/** With more changes than this, the feed tells its reader to read the Session list again. */
const MAX_CHANGES = 1000
/** Distance in transactions beyond which the number stored in a row could mean a later transaction. */
const MAX_DISTANCE = 2n ** 30n
/** Bits of a cursor that count the frames of one position. */
const FRAME_BITS = 20n
/** PostgreSQL gives no writing transaction a smaller number. */
const FIRST_POSITION = 3n

/** What a feed tells: that a Session changed, or that its reader has to read all of them again. */
export interface Notice {
  /** Null if the position has no cursor left. */
  readonly cursor: bigint | null
  readonly data:
    | { readonly sessionId: string; readonly lastEventSequence: number; readonly updatedAt: Date }
    | { readonly reset: true }
}

/**
 * Tracks one reader's position in the changes of an owner's Sessions, and makes the notices that advance it.
 *
 * A position is the number of a transaction: every transaction below it has ended, and the reader was told its changes.
 * A long transaction therefore holds the position until it ends, and nothing depends on clocks. The cursor is the
 * position with a count of the frames sent from it, so each frame has its own id.
 */
export class FeedReader {
  readonly #db: Queryable
  readonly #owner: Owner
  readonly #delivered = new DeliveredChanges()
  #position: bigint
  #cursor: bigint
  /**
   * The snapshot at which the feed began. Changes committed before it are never news, however late they are heard of;
   * changes committed after it are. Null if the reader's own cursor says which changes it knows.
   */
  #begun: Snapshot | null

  /** The cursor at which the feed begins; null if the reader brought it. A reader can resume however early it is cut off. */
  readonly begin: { readonly cursor: bigint; readonly isReset: boolean } | null

  private constructor(db: Queryable, owner: Owner, at: { cursor: bigint; begun: Snapshot | null; isLate: boolean }) {
    this.#db = db
    this.#owner = owner
    this.#position = at.cursor >> FRAME_BITS
    this.#cursor = at.cursor
    this.#begun = at.begun
    this.begin = at.begun === null ? null : { cursor: at.cursor, isReset: at.isLate }
  }

  /**
   * Opens a feed at the reader's cursor or now. It starts with a reset if this database does not know the cursor's
   * position, or the position is too far behind.
   */
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

  /** Returns notices of the Sessions that moved; a reset if they are too many. */
  async read(wanted: FeedRead): Promise<Notice[]> {
    // A look back may return only changes that were told already; leave room for one more than the bound behind them.
    const limit = MAX_CHANGES + 1 + this.#delivered.size
    const from = this.#position
    const ids = wanted.back ? null : wanted.ids
    const { changes, read } = await readChanges(this.#db, this.#owner, { from, begun: this.#begun, ids }, limit)
    const news = changes.filter(change => !this.#delivered.has(change))
    if (news.length > MAX_CHANGES) return [await this.#reset()]
    const notices = news.slice(0, -1).map(change => this.#notice(change))
    // Only a look at everything moves the position, and only with its last notice: a reader may be cut off before.
    if (wanted.back) this.#moveTo(read.horizon)
    notices.push(...news.slice(-1).map(change => this.#notice(change)))
    if (wanted.back) this.#delivered.forget(this.#position)
    return notices
  }

  /** Starts again from now. */
  async #reset(): Promise<Notice> {
    this.#begun = await takeSnapshot(this.#db)
    this.#delivered.clear()
    this.#moveTo(this.#begun.horizon)
    return { cursor: this.#next(), data: { reset: true } }
  }

  #moveTo(position: bigint): void {
    if (position <= this.#position) return
    this.#position = position
    this.#cursor = (position << FRAME_BITS) - 1n
  }

  /**
   * Returns the next cursor, or null if the position has none left, after a million frames during one transaction;
   * these frames have no id.
   */
  #next(): bigint | null {
    if ((this.#cursor + 1n) >> FRAME_BITS > this.#position) return null
    this.#cursor += 1n
    return this.#cursor
  }

  #notice(change: Change): Notice {
    this.#delivered.add(change)
    const { id, last_event_sequence: lastEventSequence, updated_at: updatedAt } = change
    return { cursor: this.#next(), data: { sessionId: id, lastEventSequence, updatedAt } }
  }
}
