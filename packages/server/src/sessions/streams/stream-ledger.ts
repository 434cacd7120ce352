import { randomUUID } from 'node:crypto'
import type { Log } from '../../kit/log.ts'
import { Loop, type Service } from '../../kit/service.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import { DatabaseUnavailable } from '../../storage/postgres/database-errors.ts'
import { holdStreams, releaseStreams, renewStreams } from './stream-ledger-sql.ts'

/** What this process has of one authority. */
interface Account {
  /** Streams that are open here. */
  held: number
  /** As the row says; null where that is not known. */
  written: number | null
  /** Opens that wait for a place. */
  waiting: PromiseWithResolvers<boolean>[]
  settling: Promise<void> | null
}

/** How long the row of a process that is gone counts, and how often one that lives renews it. */
const LIFE_MS = 20_000
const RENEWAL_MS = 5_000

/**
 * Counts the streams of each authority over all processes. An open costs one statement, a close another one, which nobody
 * waits for; frames cost none. What comes together goes together: of each authority there is one statement under way, and
 * it writes how many streams this process holds then, so no order of statements can make the row wrong. A process that
 * dies stops renewing its rows, and they lapse.
 */
export class StreamLedger implements Service {
  readonly name = 'stream-ledger'
  readonly #db: Queryable
  readonly #log: Log
  readonly #bound: number
  readonly #lifeMs: number
  readonly #holder = randomUUID()
  readonly #accounts = new Map<string, Account>()
  readonly #renewing: Loop

  /** @param bound streams that one authority may have open at once, in all processes together */
  constructor(db: Queryable, log: Log, bound: number, { lifeMs = LIFE_MS, renewalMs = RENEWAL_MS } = {}) {
    this.#db = db
    this.#log = log
    this.#bound = bound
    this.#lifeMs = lifeMs
    this.#renewing = new Loop(
      () => this.#renew(),
      renewalMs,
      error => this.#complain(error),
    )
  }

  async start(): Promise<void> {
    this.#renewing.wake()
  }

  /** Gives back what is still held, so that nobody waits for it to lapse. */
  async drain(): Promise<void> {
    await this.#renewing[Symbol.asyncDispose]()
    await Promise.all([...this.#accounts.values()].map(({ settling }) => settling))
    await releaseStreams(this.#db, this.#holder).catch(error => this.#complain(error))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain()
  }

  /** Whether this process alone has all that an authority may have. */
  isSpentHere(authority: string): boolean {
    return (this.#accounts.get(authority)?.held ?? 0) >= this.#bound
  }

  /**
   * Takes a place for one stream, to be given back once.
   * @returns whether there was one
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

  /** Writes until nothing is due, and has let go of the account by the time it looks for the last time. */
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
        // Whatever else is wrong with the row, the renewal mends once the database is back.
        if (account.waiting.length > 0) continue
        if (opens.length === 0) this.#complain(error)
        break
      }
    }
    account.settling = null
    if (account.held === 0 && account.waiting.length === 0) this.#accounts.delete(authority)
  }

  /** Rows may be missing after a crash of the database, or be there by a statement whose answer was lost. */
  async #renew(): Promise<void> {
    if (this.#accounts.size === 0) return
    const renewed = await renewStreams(this.#db, this.#holder, this.#lifeMs)
    for (const authority of renewed.difference(this.#accounts)) {
      this.#accounts.set(authority, { held: 0, written: null, waiting: [], settling: null })
    }
    for (const [authority, account] of this.#accounts) {
      if (!renewed.has(authority) && account.settling === null) account.written = null
      this.#settle(authority, account)
    }
  }

  #complain(error: unknown): void {
    if (error instanceof DatabaseUnavailable)
      this.#log.warn({ err: error }, 'the count of streams waits for the database')
    else this.#log.error({ err: error }, 'the count of streams could not be kept')
  }
}

const isDue = ({ waiting, written, held }: Account) => waiting.length > 0 || written !== held
