import type { Log } from '@berth/platform/kit/log.ts'
import { Loop } from '@berth/platform/kit/loop.ts'
import { endSilentProcess, holdLock, type LockOfProcess, locksOfPeers } from '@berth/platform/processes/process-sql.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { topics, type Wakeups } from '@berth/platform/storage/postgres/wakeups.ts'

/** Time between two polls of the locks of so many workers; it grows with their number. */
const POLL_MS = 150
const WORKERS_A_POLL = 10
/** Several connections that fall within this time fell with the database or the network. */
const SEVERAL_MS = 1_000
/** A living process writes its row once in a beat, which is a quarter of its patience, and a little late at times. */
const BEATS = 1.25 / 4
interface PeerLocksParts {
  readonly db: Queryable
  readonly wakeups: Pick<Wakeups, 'publish' | 'inSession'>
  readonly log: Log
}

/**
 * Notices within a second or two that a worker of any machine has died. Each worker holds an advisory lock on the connection
 * by which it listens, and polls whether the others hold theirs: PostgreSQL frees a lock with its connection. That is a hint
 * and no verdict: the row is ended if it is not written again for 1.25 beats, and a worker that only lost its connection
 * goes on writing it. Nothing is concluded if several fell within a second, if this worker's own connection fell, or if a
 * lock was never seen held.
 *
 * A worker that hangs keeps its lock: for it the row lapses. So it does for a machine without power, whose connection the
 * server misses later than the row.
 */
export class PeerLocks implements AsyncDisposable {
  readonly #parts: PeerLocksParts
  readonly #id: string
  readonly #polling: Loop
  readonly #verdicts = new Set<NodeJS.Timeout>()
  /** Workers whose lock was seen held in this session. */
  readonly #holders = new Set<string>()
  #session: object | null = null
  #isHeld = false
  #fellAt = Number.NEGATIVE_INFINITY
  #workers = 0
  #stopped = false

  /** @param id id of this process's row */
  constructor(parts: PeerLocksParts, id: string) {
    this.#parts = parts
    this.#id = id
    this.#polling = new Loop(
      () => this.#poll(),
      () => POLL_MS * Math.max(1, Math.ceil(this.#workers / WORKERS_A_POLL)),
      error => {
        this.#forget(null)
        parts.log.info({ err: error }, 'the locks of the other workers were not read')
      },
    )
  }

  /** Holds its own lock and watches those of the others. */
  start(): void {
    if (this.#parts.wakeups.inSession !== undefined) this.#polling.wake()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true
    this.#drop()
    // Not awaited: a database that does not answer must not hold up a stop.
    void this.#polling[Symbol.asyncDispose]()
  }

  async #poll(): Promise<void> {
    const { wakeups } = this.#parts
    const locks = await wakeups.inSession?.<LockOfProcess>(locksOfPeers(this.#id))
    if (locks === undefined || locks === null) return this.#forget(null)
    if (locks.session !== this.#session) this.#forget(locks.session)
    if (!this.#isHeld) {
      const own = await wakeups.inSession?.<{ held: boolean }>(holdLock(this.#id))
      this.#isHeld = own?.rows[0]?.held === true
    }
    this.#workers = locks.rows.length
    for (const peer of locks.rows) {
      if (peer.held) this.#holders.add(peer.id)
      else if (this.#holders.delete(peer.id)) this.#fell(peer)
    }
  }

  #fell(peer: LockOfProcess): void {
    const now = performance.now()
    const isOne = now - this.#fellAt > SEVERAL_MS
    this.#fellAt = now
    if (!isOne) this.#drop()
    if (!isOne || this.#stopped) return
    const timer = setTimeout(
      () => {
        this.#verdicts.delete(timer)
        void this.#end(peer)
      },
      Math.max(SEVERAL_MS, peer.patienceMs * BEATS),
    )
    this.#verdicts.add(timer)
  }

  async #end({ id, heardAt }: LockOfProcess): Promise<void> {
    const { db, wakeups, log } = this.#parts
    try {
      if (!(await endSilentProcess(db, id, heardAt, this.#id))) return
      wakeups.publish(topics.queue)
      log.warn({ worker: id }, 'a worker lost its connection and fell silent; others take over what it held')
    } catch (error) {
      log.warn({ err: error, worker: id }, 'the row of a silent worker was not ended; it lapses')
    }
  }

  /** Forgets what was seen, at the loss of the own connection. */
  #forget(session: object | null): void {
    this.#session = session
    this.#isHeld = false
    this.#holders.clear()
    this.#drop()
  }

  #drop(): void {
    for (const timer of this.#verdicts) clearTimeout(timer)
    this.#verdicts.clear()
  }
}
