import { appendEvents } from '@berth/core/sessions/log/append.ts'
import type { EventDraft } from '@berth/core/sessions/log/envelope.ts'
import { listEventsAfter, type StoredEvent } from '@berth/core/sessions/streams/event-sql.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { clientConfig } from '@berth/platform/storage/postgres/pool.ts'
import { PostgresWakeups, topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { pino } from 'pino'
import { silentLog } from '../services/log.ts'
import type { TestDatabase } from '../storage/postgres.ts'

/** Appends to logs as a worker in another process does: in its own transactions and with its own NOTIFY. */
export class LogWriter implements AsyncDisposable {
  readonly #db: TestDatabase
  readonly #wakeups: PostgresWakeups
  #written = 0

  private constructor(db: TestDatabase, wakeups: PostgresWakeups) {
    this.#db = db
    this.#wakeups = wakeups
  }

  static async open(db: TestDatabase): Promise<LogWriter> {
    const connection = clientConfig({ connection: db.connection, log: silentLog })
    const wakeups = new PostgresWakeups({ connection, log: pino({ level: 'silent' }) })
    await wakeups.start()
    return new LogWriter(db, wakeups)
  }

  /**
   * Appends that many Events, each with its own number, in one transaction.
   * @returns the newest sequence
   */
  async append(key: SessionKey, count = 1, data: Record<string, unknown> = {}): Promise<number> {
    const drafts: EventDraft[] = []
    for (let n = 0; n < count; n += 1) drafts.push({ type: 'svc.test', data: { number: this.#number(), ...data } })
    const newest = await this.#db.database.transaction(tx => appendEvents(tx, key, drafts, new Date()))
    if (newest === null) throw new Error(`there is no session ${key.sessionId}`)
    this.#wakeups.publish(topics.session(key.organizationId, key.sessionId))
    return newest
  }

  /** Publishes a topic and changes nothing. */
  announce(topic: string): void {
    this.#wakeups.publish(topic)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#wakeups[Symbol.asyncDispose]()
  }

  #number(): number {
    this.#written += 1
    return this.#written
  }
}

/** Reads the whole log of a Session from the table. */
export async function storedLog({ database }: TestDatabase, key: SessionKey): Promise<StoredEvent[]> {
  const all: StoredEvent[] = []
  for (;;) {
    const page = await listEventsAfter(database, key, all.length, 1000)
    if (page.length === 0) return all
    all.push(...page)
  }
}
