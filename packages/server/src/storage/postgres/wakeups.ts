import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurnOfTheLoop, setTimeout as sleep } from 'node:timers/promises'
import { type Client, type ClientConfig, default as pg } from 'pg'
import type { Logger } from 'pino'
import type { Queryable } from './database.ts'

const CHANNEL = 'berth'
/** PostgreSQL refuses payloads of 8000 bytes and more. */
const MAX_PAYLOAD = 7900
/**
 * Maximum number of topics that wait for a connection; beyond it one topic tells the others that anything may have
 * happened.
 */
const MAX_PENDING = 10_000
const ANYTHING = '*'
/** When a process stops, it waits this long for its last topics to go out. */
const LAST_WORDS_MS = 1_000

/** Hints that something changed. They carry no data: a listener reads the database, so a lost hint costs only time. */
export interface Wakeups {
  /** Wakes the listeners in this process at once and those in others within milliseconds. Call it after the commit. */
  publish(...topics: string[]): void
  /**
   * Listens to a topic and to those directly below it (`s/a` hears `s/a/b`).
   * @param listener gets the topic, or null if hints may have been lost
   * @returns a function that ends the subscription
   */
  subscribe(topic: string, listener: (topic: string | null) => void): () => void
}

/**
 * Wake-ups between the processes of one database.
 *
 * Topics go out on a separate connection, one NOTIFY at a time; topics published meanwhile join the next one. NOTIFY
 * inside the transactions would serialise all commits on one lock. While the connection is down, topics wait for it,
 * because other processes may still be listening. When it is back, every listener here wakes, because hints may have
 * been lost. A periodic query detects a connection that died silently.
 */
export class PostgresWakeups implements Wakeups, AsyncDisposable {
  readonly #listeners = new Map<string, Set<(topic: string | null) => void>>()
  readonly #self = randomUUID().slice(0, 8)
  readonly #options: { connection: ClientConfig; log: Logger; retryMs: number; askMs: number }
  readonly #pending = new Set<string>()
  #flushing: Promise<void> | null = null
  #retrying: NodeJS.Timeout | undefined
  #asking: NodeJS.Timeout | undefined
  #client: Client | null = null
  #connected = false
  #closed = false

  constructor(options: { connection: ClientConfig; log: Logger; retryMs?: number; askMs?: number }) {
    this.#options = { retryMs: 250, askMs: 15_000, ...options }
  }

  /** Connects and keeps the connection up. It awaits the first attempt; later attempts run in the background. */
  async start(): Promise<void> {
    await this.#connect()
  }

  publish(...topics: string[]): void {
    for (const topic of topics) {
      this.#wake(topic)
      this.#pending.add(topic)
    }
    if (this.#pending.size > MAX_PENDING) {
      this.#pending.clear()
      this.#pending.add(ANYTHING)
    }
    this.#flushSoon()
  }

  subscribe(topic: string, listener: (topic: string | null) => void): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set()
    this.#listeners.set(topic, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(topic) === listeners) this.#listeners.delete(topic)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    clearTimeout(this.#retrying)
    clearInterval(this.#asking)
    if (this.#flushing !== null) {
      const patience = new AbortController()
      await Promise.race([this.#flushing, sleep(LAST_WORDS_MS, undefined, patience).catch(() => undefined)])
      patience.abort()
    }
    await this.#client?.end().catch(() => undefined)
  }

  #wake(topic: string): void {
    const parent = topic.slice(0, Math.max(0, topic.lastIndexOf('/')))
    for (const listener of [...(this.#listeners.get(topic) ?? []), ...(this.#listeners.get(parent) ?? [])]) {
      listener(topic)
    }
  }

  #wakeAll(): void {
    for (const listener of [...this.#listeners.values()].flatMap(listeners => [...listeners])) listener(null)
  }

  #flushSoon(): void {
    if (this.#pending.size > 0 && this.#connected) this.#flushing ??= this.#flush()
  }

  /**
   * Sends the waiting topics. At most one NOTIFY is in flight; topics published meanwhile go out with the next one.
   * Without topics it asks whether the connection still answers.
   */
  async #flush(): Promise<void> {
    await nextTurnOfTheLoop()
    do {
      const client = this.#client
      if (client === null || !this.#connected) break
      const topics = [...this.#pending]
      this.#pending.clear()
      try {
        const payloads = this.#payloads(topics)
        await client.query('select pg_notify($1, payload) from unnest($2::text[]) as payload', [CHANNEL, payloads])
      } catch (cause) {
        // The topics may have been sent; waking a listener twice is harmless.
        for (const topic of topics) this.#pending.add(topic)
        this.#lost(client, cause)
        break
      }
    } while (this.#pending.size > 0)
    // In the same synchronous step as the last look at the pending topics, so that no topic published in between is
    // left waiting.
    this.#flushing = null
    this.#flushSoon()
  }

  #payloads(topics: readonly string[]): string[] {
    const payloads: string[] = []
    let payload = this.#self
    for (const topic of topics) {
      if (payload.length + topic.length + 1 > MAX_PAYLOAD) {
        payloads.push(payload)
        payload = this.#self
      }
      payload += `\n${topic}`
    }
    if (topics.length > 0) payloads.push(payload)
    return payloads
  }

  async #connect(): Promise<void> {
    const client = new pg.Client({ ...this.#options.connection, keepAlive: true })
    this.#client = client
    client.on('error', cause => this.#lost(client, cause))
    client.on('end', () => this.#lost(client, new Error('connection ended')))
    client.on('notification', ({ payload }) => {
      const [sender, ...topics] = (payload ?? '').split('\n')
      if (sender === this.#self) return
      for (const topic of topics) {
        if (topic === ANYTHING) this.#wakeAll()
        else this.#wake(topic)
      }
    })
    try {
      await client.connect()
      await client.query(`listen ${CHANNEL}`)
    } catch (cause) {
      this.#lost(client, cause)
      return
    }
    if (this.#client !== client || this.#closed) return
    this.#connected = true
    this.#asking = setInterval(() => {
      this.#flushing ??= this.#flush()
    }, this.#options.askMs)
    this.#wakeAll()
    this.#flushSoon()
  }

  #lost(client: Client, cause: unknown): void {
    if (this.#client !== client || this.#closed) return
    this.#client = null
    clearInterval(this.#asking)
    if (this.#connected)
      this.#options.log.warn({ err: cause }, 'wake-ups lost their connection; polling until it is back')
    this.#connected = false
    client.end().catch(() => undefined)
    this.#retrying = setTimeout(() => {
      this.#connect().catch(() => undefined)
    }, this.#options.retryMs)
  }
}

/** Publishes topics from a process that is no part of the service, such as an operator's command. */
export async function announce(db: Queryable, ...told: string[]): Promise<void> {
  await db.query('select pg_notify($1, $2)', [CHANNEL, ['', ...told].join('\n')])
}

/** Names of the topics. */
export const topics = {
  /** Parent of the topics of all the organization's Sessions. */
  organization: (organizationId: string) => `s/${organizationId}`,
  /** The Session's row, Runs or log changed. */
  session: (organizationId: string, sessionId: string) => `s/${organizationId}/${sessionId}`,
  /** The worker that executes the Session's Run should look for new requests. */
  control: (organizationId: string, sessionId: string) => `c/${organizationId}/${sessionId}`,
  /** The preview of the Session's Run changed. */
  preview: (organizationId: string, sessionId: string) => `p/${organizationId}/${sessionId}`,
  /** A review of the Session's changes was answered. */
  review: (organizationId: string, sessionId: string) => `v/${organizationId}/${sessionId}`,
  /** A Run waits for a worker. */
  queue: 'q',
  /** A review, a Publication or a Merge waits for a worker. */
  deliveries: 'd',
  /** An endpoint of webhooks came or went, or deliveries were queued outside the log. */
  webhooks: 'w',
  /** A lease ended, or a sandbox lost its lease. */
  leases: 'l',
} as const
