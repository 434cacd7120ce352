import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** An unknown key id makes the ring read the table again, at most this often: anybody can invent key ids. */
const UNKNOWN_MS = 10_000
/** The ring also reads the table again this long after it last did, so that a key removed there signs for nobody. */
const KNOWN_MS = 60_000

/** The public keys of this deployment's tokens, as the table has them. */
export class KeyRing {
  readonly #db: Queryable
  readonly #clock: Clock
  #keys: ReadonlyMap<string, { readonly key: KeyObject; readonly endsAtMs: number }> = new Map()
  #readAtMs = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | null = null

  constructor(db: Queryable, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** Returns the key with this id while tokens that it signed can be valid; undefined for any other. */
  async find(kid: string): Promise<KeyObject | undefined> {
    const ageMs = this.#clock.now().getTime() - this.#readAtMs
    if (ageMs >= (this.#keys.has(kid) ? KNOWN_MS : UNKNOWN_MS)) {
      this.#reading ??= this.#read().finally(() => {
        this.#reading = null
      })
      await this.#reading
    }
    const found = this.#keys.get(kid)
    return found !== undefined && found.endsAtMs > this.#clock.now().getTime() ? found.key : undefined
  }

  async #read(): Promise<void> {
    const now = this.#clock.now()
    const { rows } = await this.#db.query<{ kid: string; public_jwk: JsonWebKey; expires_at: Date }>({
      name: 'read-key-ring',
      text: 'select kid, public_jwk, expires_at from signing_keys where expires_at > $1',
      values: [now],
    })
    this.#keys = new Map(
      rows.map(({ kid, public_jwk, expires_at }) => [
        kid,
        {
          // An id is the digest of its key. The same object serves on, so that verified tokens stay remembered.
          key: this.#keys.get(kid)?.key ?? createPublicKey({ key: public_jwk, format: 'jwk' }),
          endsAtMs: Number(expires_at),
        },
      ]),
    )
    this.#readAtMs = now.getTime()
  }
}
