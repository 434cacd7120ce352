import type { Clock } from '../../kit/clock.ts'
import type { Database } from '../../storage/postgres/database.ts'
import { hasCopies, insertCopies, returnFeedTo } from './copy-sql.ts'
import type { Standing } from './wire.ts'

/** Rows that this process knows to be there; past it all are looked up once more. */
const REMEMBERED = 50_000

/**
 * Keeps copies of the account service's rows that rows of this database name. A copy is made when its subject is first
 * let in, and nothing is written for it after that; `RevocationFollower` brings it up to date.
 */
export class CopiedRows {
  readonly #db: Database
  readonly #clock: Clock
  readonly #known = new Set<string>()

  constructor(db: Database, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** Makes the copies of these rows that are missing. @throws DatabaseUnavailable */
  async provide(standing: Standing): Promise<void> {
    const key = keyOf(standing)
    if (this.#known.has(key)) return
    if (!(await hasCopies(this.#db, standing))) {
      await this.#db.transaction(async tx => {
        // The copies show what was so at the horizon. Later changes may have been applied already, when there was nothing
        // to apply them to, so the feed goes back. This also makes one copy at a time.
        await returnFeedTo(tx, standing.as_of)
        await insertCopies(tx, standing, this.#clock.now())
      })
    }
    if (this.#known.size >= REMEMBERED) this.#known.clear()
    this.#known.add(key)
  }
}

const keyOf = ({ organization, installation, membership, api_key_id }: Standing): string =>
  [organization.id, installation?.id, membership?.id, api_key_id].join()
