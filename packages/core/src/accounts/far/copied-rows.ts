import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import { hasCopies, putCopies, putSignInCopy, returnFeedTo } from './copy-sql.ts'
import type { AccountSnapshot } from './wire.ts'

/** Rows that this process knows to be right; past it all are looked up once more. */
const REMEMBERED = 50_000

/**
 * Keeps copies of the account service's rows that rows of this database name. A copy is made when its subject is first
 * let in; `RevocationFollower` brings it up to date. A subject that was stopped and is let in again does not wait for
 * that, since whatever it began meanwhile would be stopped: its copy is renewed with the verdict.
 */
export class CopiedRows {
  readonly #db: Database
  readonly #clock: Clock
  readonly #known = new Set<string>()
  #cursor: string | null = null

  constructor(db: Database, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** Takes note of the place up to which the changes are applied. When it moves, all copies are looked up once more. */
  atCursor(cursor: string): void {
    if (cursor !== this.#cursor) this.#known.clear()
    this.#cursor = cursor
  }

  /**
   * Makes the copies of these rows that are missing, and renews those that say otherwise.
   * @param signInId of the person of the standing; null for others
   * @throws DatabaseUnavailable
   */
  async provide(snapshot: AccountSnapshot, signInId: string | null = null): Promise<void> {
    const key = `${keyOf(snapshot)},${signInId}`
    if (this.#known.has(key)) return
    const cursor = this.#cursor
    if (!(await hasCopies(this.#db, snapshot, signInId))) {
      await this.#db.transaction(async tx => {
        // The copies show what was so at the horizon. Later changes may have been applied already, to nothing or to what
        // this overwrites, so the feed goes back. This also makes one copy at a time.
        await returnFeedTo(tx, snapshot.as_of)
        await putCopies(tx, snapshot, this.#clock.now())
        if (signInId !== null) await putSignInCopy(tx, signInId, snapshot, this.#clock.now())
      })
    }
    // A change that was applied meanwhile may be one of these rows.
    if (cursor !== this.#cursor) return
    if (this.#known.size >= REMEMBERED) this.#known.clear()
    this.#known.add(key)
  }
}

const keyOf = ({ organization, installation, membership, api_key_id }: AccountSnapshot): string =>
  [organization.id, installation?.id, membership?.id, api_key_id].join()
