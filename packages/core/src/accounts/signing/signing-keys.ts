import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '@berth/platform/kit/clock.ts'
import { StartError } from '@berth/platform/kit/start-error.ts'
import { type MasterKey, UnsealError } from '@berth/platform/storage/master-key.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import { makeSigningKey, openSigningKey, type SigningKey } from './signing-key.ts'
import {
  forgetSigningKeys,
  insertSigningKey,
  listSigningKeys,
  lockSigningKeys,
  type SigningKeyRow,
} from './signing-key-sql.ts'

/** How long a key signs, how long before that it is published, and how long its last token lives. */
export interface KeyTimes {
  readonly signMs: number
  readonly publishAheadMs: number
  readonly tokenMs: number
}

const POLL_MS = 60_000

/**
 * The keys that sign this deployment's tokens. Each is published before it signs, so that every verifier that caches
 * the key set knows it by then. It stays published until its last token has expired. Every account process looks once a
 * minute; the first that finds no successor makes one, under a lock.
 */
export class SigningKeys implements AsyncDisposable {
  readonly #db: Database
  readonly #clock: Clock
  readonly #masterKey: MasterKey
  readonly #times: KeyTimes
  readonly #stop = new AbortController()
  readonly #changed = new Set<() => void>()
  #keys: readonly (SigningKey & { readonly signsFrom: Date })[] = []
  /** The published keys, the current one first, as of the last look. */
  #seen = ''
  #refreshing: Promise<void> = Promise.resolve()

  constructor(db: Database, clock: Clock, masterKey: MasterKey, times: KeyTimes) {
    this.#db = db
    this.#clock = clock
    this.#masterKey = masterKey
    this.#times = times
  }

  /**
   * Loads the keys and looks for missing ones from then on.
   * @throws StartError if the master key does not open the stored keys
   */
  async start(onFault: (error: unknown) => void): Promise<void> {
    try {
      await this.poll()
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error
      throw new StartError(
        `the keys that sign tokens do not open: ${error.message}; start with the master key that sealed them (BERTH_MASTER_KEY)`,
        { cause: error },
      )
    }
    this.#refreshing = this.#refresh(onFault)
  }

  /** The key that signs now. */
  get current(): SigningKey {
    const now = this.#clock.now()
    const signing = this.#keys.findLast(({ signsFrom, signsUntil }) => signsFrom <= now && now < signsUntil)
    // If nobody could make the next key, this one signs past its time: an old key is better than no sign-in.
    const key = signing ?? this.#keys.findLast(({ signsFrom }) => signsFrom <= now)
    if (key === undefined) throw new Error('there is no signing key')
    return key
  }

  /** All published keys; the current one is first. */
  get published(): readonly SigningKey[] {
    const { current } = this
    return [current, ...this.#keys.filter(key => key !== current)]
  }

  /** Registers a callback for a change of the current key or of the published set. */
  onChange(changed: () => void): void {
    this.#changed.add(changed)
  }

  /** Reads the keys, makes missing ones and deletes expired ones. */
  async poll(): Promise<void> {
    const now = this.#clock.now()
    let rows = await listSigningKeys(this.#db, now)
    if (this.#nextStart(rows, now) !== null) {
      rows = await this.#db.transaction(async tx => {
        await lockSigningKeys(tx)
        const listed = [...(await listSigningKeys(tx, now))]
        for (let from = this.#nextStart(listed, now); from !== null; from = this.#nextStart(listed, now)) {
          const made = { ...(await makeSigningKey(this.#masterKey)), ...this.#datesFrom(from) }
          await insertSigningKey(tx, made, now)
          listed.push(made)
        }
        return listed
      })
    }
    await forgetSigningKeys(this.#db, now)
    this.#keys = rows.map(row => ({ ...openSigningKey(this.#masterKey, row), signsFrom: row.signs_from }))
    // Time alone makes another key the current one, so what was current at the last look is kept.
    const before = this.#seen
    this.#seen = this.published.map(({ kid }) => kid).join(' ')
    if (before !== '' && before !== this.#seen) for (const changed of this.#changed) changed()
  }

  /** Returns the time at which a missing key must begin to sign; null if none is missing. */
  #nextStart(rows: readonly SigningKeyRow[], now: Date): Date | null {
    const last = rows.at(-1)
    if (last === undefined || last.signs_until <= now) return now
    return last.signs_until.getTime() - now.getTime() <= this.#times.publishAheadMs ? last.signs_until : null
  }

  #datesFrom(from: Date): Pick<SigningKeyRow, 'signs_from' | 'signs_until' | 'expires_at'> {
    const until = from.getTime() + this.#times.signMs
    return { signs_from: from, signs_until: new Date(until), expires_at: new Date(until + this.#times.tokenMs) }
  }

  async #refresh(onFault: (error: unknown) => void): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      await sleep(POLL_MS, undefined, { signal, ref: false }).catch(() => {})
      if (!signal.aborted) await this.poll().catch(onFault)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#refreshing
  }
}
