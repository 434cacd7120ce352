import { randomUUID } from 'node:crypto'
import type { Log } from '@berth/platform/kit/log.ts'
import type { PeriodicTask } from '@berth/platform/kit/periodic-tasks.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { logFailure } from '@berth/platform/storage/postgres/log-failure.ts'
import { holdStreams, releaseStreams, renewStreams } from './stream-ledger-sql.ts'

/** The streams of one authority in this process. */
interface Account {
  /** Streams that are open here. */
  held: number
  /** The count in the row; null if it is not known. */
  written: number | null
  /** Opens that wait for a place. */
  waiting: PromiseWithResolvers<boolean>[]
  settling: Promise<void> | null
}

/** How long the row of a dead process counts, and how often a live one renews its rows. */
const LIFE_MS = 20_000
const RENEWAL_MS = 5_000

/**
 * Counts the streams of each authority over all processes. An open costs one statement, a close another, which nobody
 * waits for; frames cost none. Each authority has one statement in flight, and opens that arrive together share one. The
 * statement writes how many streams this process holds then, so the last one makes the row right; the renewal finds a row
 * that one of before wrote last. A process that dies stops renewing its rows, and they lapse.
 */
export class StreamLedger implements PeriodicTask, AsyncDisposable {
  readonly name = 'stream-ledger'
  readonly intervalMs: number
  readonly #db: Queryable
  readonly #log: Log
  readonly #bound: number
  readonly #lifeMs: number
  readonly #holder = randomUUID()
  readonly #accounts = new Map<string, Account>()

  /** @param bound streams that one authority may have open at once, in all processes together */
  constructor(db: Queryable, log: Log, bound: number, { lifeMs = LIFE_MS, renewalMs = RENEWAL_MS } = {}) {
    this.intervalMs = renewalMs
    this.#db = db
    this.#log = log
    this.#bound = bound
    this.#lifeMs = lifeMs
  }

  /** Gives back every held stream, so that nobody waits for its row to lapse. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#accounts.values()].map(({ settling }) => settling))
    await releaseStreams(this.#db, this.#holder).catch(error => this.failed(error))
  }

  /** Returns true if this process alone holds as many streams as an authority may have. */
  isSpentLocally(authority: string): boolean {
    return (this.#accounts.get(authority)?.held ?? 0) >= this.#bound
  }

  /**
   * Takes a place for one stream; the caller gives it back once.
   * @returns true if there was a place
   * @throws DatabaseUnavailable
   */
  take(authority: string): Promise<boolean> {
    const account = this.#accounts.get(authority) ?? { held: 0, written: 0, waiting: [], settling: null }
    this.#accounts.set(authority, account)
    const place = Promise.withResolvers<boolean>()
    account.waiting.push(place)
    this.#settle(authority, account)
    return place.promise
  }

  giveBack(authority: string): void {
    const account = this.#accounts.get(authority)
    if (account === undefined) return
    account.held -= 1
    this.#settle(authority, account)
  }

  #settle(authority: string, account: Account): void {
    if (account.settling !== null) return
    if (isDue(account)) account.settling = this.#write(authority, account)
    else if (account.held === 0) this.#accounts.delete(authority)
  }

  /** Writes until nothing is due, and lets go of the account in the same step as its last check. */
  async #write(authority: string, account: Account): Promise<void> {
    const of = { authority, holder: this.#holder, bound: this.#bound, lifeMs: this.#lifeMs }
    while (isDue(account)) {
      const { held, waiting: opens } = account
      account.waiting = []
      try {
        const granted = await holdStreams(this.#db, of, held, opens.length)
        account.written = held + granted
        account.held += granted
        for (const [index, open] of opens.entries()) open.resolve(index < granted)
      } catch (error) {
        account.written = null
        for (const open of opens) open.reject(error)
        // The renewal mends any other fault of the row once the database is back.
        if (account.waiting.length > 0) continue
        if (opens.length === 0) this.failed(error)
        break
      }
    }
    account.settling = null
    if (account.held === 0 && account.waiting.length === 0) this.#accounts.delete(authority)
  }

  /**
   * Mends the rows: a crash of the database may lose one, and a statement whose answer was lost may have written one, even
   * after those that followed it.
   */
  async round(): Promise<void> {
    if (this.#accounts.size === 0) return
    const renewed = await renewStreams(this.#db, this.#holder, this.#lifeMs)
    for (const [authority, written] of renewed) {
      if (!this.#accounts.has(authority))
        this.#accounts.set(authority, { held: 0, written, waiting: [], settling: null })
    }
    for (const [authority, account] of this.#accounts) {
      if (account.settling === null) account.written = renewed.get(authority) ?? 0
      this.#settle(authority, account)
    }
  }

  failed(error: unknown): void {
    logFailure(this.#log, error, {
      waiting: 'the database is away; the count of open streams is written once it is back',
      failed: 'could not write the count of open streams',
    })
  }
}

const isDue = ({ waiting, written, held }: Account) => waiting.length > 0 || written !== held
