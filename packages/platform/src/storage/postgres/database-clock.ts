import type { Clock } from '../../kit/clock.ts'
import type { Log } from '../../kit/log.ts'
import type { PeriodicTask } from '../../kit/periodic-tasks.ts'
import { type Queryable, queryOne } from './database.ts'
import { logFailure } from './log-failure.ts'

/** The clock stands still for so long rather than go back. */
const STAND_MS = 5_000
/** A reading that moves the clock further is no inaccuracy: the database's clock was set. */
const SET_MS = 1_000
/** TLS, signatures for stores and sign-in bear so much between this machine's clock and the database's. */
const APART_MS = 30_000
/** The first readings: the quickest is the best, and the first of a process waits for a connection. */
const FIRST_READINGS = 3

/** Where a clock reads the time. Milliseconds everywhere; tests give their own. */
export interface TimeSources {
  /** Asks the database for its time, since 1970. */
  readonly ask: () => Promise<number>
  /** Counts at an even pace, whatever is set. */
  readonly count?: () => number
  /** Returns this machine's time, since 1970. */
  readonly machine?: () => number
}

/**
 * The time of the database, which all processes of a deployment share. It asks now and then and counts between, so reading it
 * costs nothing, and this machine's clock has no part in it.
 *
 * The database read its clock at some moment while it was asked. A time that fits into that span stays, so a slow answer
 * moves nothing, and each quick one narrows the error.
 */
export class DatabaseClock implements Clock {
  readonly #ask: () => Promise<number>
  readonly #count: () => number
  readonly #machine: () => number
  /** The database's time less the count; null before the first reading. */
  #ahead: number | null = null
  #latest = Number.NEGATIVE_INFINITY

  constructor({ ask, count = () => performance.now(), machine = Date.now }: TimeSources) {
    this.#ask = ask
    this.#count = count
    this.#machine = machine
  }

  /**
   * Returns the database's time. It goes back only if the database's clock was set back by more than some seconds;
   * otherwise it stands still until it is right.
   */
  now(): Date {
    if (this.#ahead === null) throw new Error('the clock was read before the database told the time')
    const time = this.#count() + this.#ahead
    if (time >= this.#latest || time < this.#latest - STAND_MS) this.#latest = time
    return new Date(Math.floor(this.#latest))
  }

  /** Milliseconds that this machine's clock is ahead of the database's. */
  get machineAheadMs(): number {
    return this.#ahead === null ? 0 : this.#machine() - (this.#count() + this.#ahead)
  }

  /** Asks the database. @returns milliseconds that its clock was set forward since the last reading, or back */
  async read(): Promise<number> {
    const since = this.#count()
    const read = await this.#ask()
    const [least, most] = [read - this.#count(), read - since]
    const before = this.#ahead
    this.#ahead = before === null ? (least + most) / 2 : Math.min(Math.max(before, least), most)
    return before === null ? 0 : this.#ahead - before
  }
}

/** Returns a clock of a database that was just read. It counts on by itself, for a command that soon ends. */
export async function readDatabaseClock(db: Queryable): Promise<DatabaseClock> {
  const clock = new DatabaseClock({ ask: () => askTime(db) })
  await clock.read()
  return clock
}

async function askTime(db: Queryable): Promise<number> {
  const row = await queryOne<{ ms: number }>(db, {
    name: 'read-clock',
    text: 'select extract(epoch from clock_timestamp())::float8 * 1000 as ms',
  })
  return row.ms
}

/** Keeps a clock true, and tells operators of clocks that were set or are wrong. */
export class ClockKeeper implements PeriodicTask {
  readonly name = 'clock-keeper'
  readonly intervalMs: number
  readonly clock: DatabaseClock
  readonly #log: Log
  #isApart = false

  /**
   * @param intervalMs time between two readings: a database's clock that was set is noticed so late
   * @param sources absent: the database, and this machine
   */
  constructor(
    { db, log }: { readonly db: Queryable; readonly log: Log },
    intervalMs: number,
    sources: TimeSources = { ask: () => askTime(db) },
  ) {
    this.intervalMs = intervalMs
    this.clock = new DatabaseClock(sources)
    this.#log = log
  }

  /** Resolves when the clock can be read. @throws if the database cannot be asked */
  async begin(): Promise<void> {
    for (let reading = 1; reading < FIRST_READINGS; reading += 1) await this.clock.read()
    await this.round()
  }

  async round(): Promise<void> {
    const setMs = await this.clock.read()
    if (Math.abs(setMs) > SET_MS) {
      const fields = { seconds: seconds(setMs) }
      this.#log.warn(
        fields,
        "the database's clock was set: deadlines and expiries move with it; check its server's clock",
      )
    }
    const { machineAheadMs } = this.clock
    const isApart = Math.abs(machineAheadMs) > APART_MS
    if (isApart && !this.#isApart) {
      const fields = { seconds: seconds(machineAheadMs) }
      this.#log.warn(fields, "this machine's clock and the database's are apart: keep both by NTP (docs/operations.md)")
    }
    this.#isApart = isApart
  }

  failed(error: unknown): void {
    logFailure(this.#log, error, {
      waiting: 'reading the clock waits for the database',
      failed: "the database's clock could not be read",
    })
  }
}

const seconds = (ms: number): number => Math.round(ms / 1000)
