import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** A key's row tells its last use to the minute: a busy key would else write its row on each request. */
const MINUTE_MS = 60_000
/** Keys that are remembered; past it all are forgotten, and written once more than they need be. */
const REMEMBERED = 10_000

/** Notes when API keys were last used. */
export class KeyUse {
  readonly #db: Queryable
  readonly #clock: Clock
  readonly #notedAtMs = new Map<string, number>()

  constructor(db: Queryable, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** Notes that a key is used now, unless that was noted within the last minute. */
  async note(keyId: string): Promise<void> {
    const now = this.#clock.now()
    const notedAtMs = this.#notedAtMs.get(keyId)
    if (notedAtMs !== undefined && now.getTime() - notedAtMs < MINUTE_MS) return
    if (this.#notedAtMs.size >= REMEMBERED) this.#notedAtMs.clear()
    this.#notedAtMs.set(keyId, now.getTime())
    await this.#db.query({
      name: 'note-key-use',
      text: `
        update api_keys set last_used_at = $2
        where id = $1 and (last_used_at is null or last_used_at <= $2::timestamptz - interval '1 minute')`,
      values: [keyId, now],
    })
  }
}
