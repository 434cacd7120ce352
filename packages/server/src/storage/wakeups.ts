import { randomUUID } from 'node:crypto'
import { type Client, type ClientConfig, default as pg } from 'pg'
import type { Logger } from 'pino'

const CHANNEL = 'berth'
/** PostgreSQL refuses payloads of 8000 bytes and more. */
const MAX_PAYLOAD = 7900

/** Hints that something changed. They carry no data: a listener reads the database, so a lost hint costs time only. */
export interface Wakeups {
  /** Call after commit. Reaches this process at once and the others within milliseconds. */
  publish(...topics: string[]): void
  /**
   * Hears of a topic and of those right below it (`s/a` of `s/a/b`).
   * @param listener gets the topic, or null where anything may have happened unheard
   * @returns a function that ends the subscription
   */
  subscribe(topic: string, listener: (topic: string | null) => void): () => void
}

/**
 * Wake-ups between the processes of one database (architecture, mechanism 7).
 *
 * Topics go out on a connection of their own, one NOTIFY at a time, and what is published meanwhile joins the next one:
 * NOTIFY inside the transactions would serialise all commits on one lock. While the connection is away nothing is delivered from other processes;
 * when it is back every listener is woken, because anything may have happened meanwhile.
 */
export class PostgresWakeups implements Wakeups, AsyncDisposable {
  readonly #listeners = new Map<string, Set<(topic: string | null) => void>>()
  readonly #self = randomUUID().slice(0, 8)
  readonly #options: { connection: ClientConfig; log: Logger; retryMs: number }
  readonly #pending = new Set<string>()
  #flushing = false
  #retrying: NodeJS.Timeout | null = null
  #client: Client | null = null
  #connected = false
  #closed = false

  constructor(options: { connection: ClientConfig; log: Logger; retryMs?: number }) {
    this.#options = { retryMs: 250, ...options }
  }

  /** Connects and keeps connected. The first attempt is awaited, later ones are made in the background. */
  async start(): Promise<void> {
    await this.#connect()
  }

  publish(...topics: string[]): void {
    for (const topic of topics) {
      this.#wake(topic)
      this.#pending.add(topic)
    }
    if (this.#pending.size > 0 && !this.#flushing) {
      this.#flushing = true
      setImmediate(() => void this.#flush())
    }
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
    if (this.#retrying !== null) clearTimeout(this.#retrying)
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

  /** What is published while a NOTIFY is under way goes out with the next one: at most one at a time, none waits idly. */
  async #flush(): Promise<void> {
    while (this.#pending.size > 0) {
      const payloads = this.#takePayloads()
      const client = this.#client
      // While nobody can hear it nothing is sent: whoever reconnects looks for itself.
      if (client === null || !this.#connected) break
      try {
        await client.query('select pg_notify($1, payload) from unnest($2::text[]) as payload', [CHANNEL, payloads])
      } catch (cause) {
        this.#lost(client, cause)
      }
    }
    this.#flushing = false
  }

  #takePayloads(): string[] {
    const payloads: string[] = []
    let payload = this.#self
    for (const topic of this.#pending) {
      if (payload.length + topic.length + 1 > MAX_PAYLOAD) {
        payloads.push(payload)
        payload = this.#self
      }
      payload += `\n${topic}`
    }
    payloads.push(payload)
    this.#pending.clear()
    return payloads
  }

  async #connect(): Promise<void> {
    const client = new pg.Client({ ...this.#options.connection, keepAlive: true })
    this.#client = client
    client.on('error', cause => this.#lost(client, cause))
    client.on('end', () => this.#lost(client, new Error('connection ended')))
    client.on('notification', ({ payload }) => {
      const [sender, ...topics] = (payload ?? '').split('\n')
      if (sender !== this.#self) for (const topic of topics) this.#wake(topic)
    })
    try {
      await client.connect()
      await client.query(`listen ${CHANNEL}`)
      this.#connected = true
      this.#wakeAll()
    } catch (cause) {
      this.#lost(client, cause)
    }
  }

  #lost(client: Client, cause: unknown): void {
    if (this.#client !== client || this.#closed) return
    this.#client = null
    if (this.#connected)
      this.#options.log.warn({ err: cause }, 'wake-ups lost their connection; polling until it is back')
    this.#connected = false
    client.end().catch(() => undefined)
    this.#retrying = setTimeout(() => {
      this.#connect().catch(() => undefined)
    }, this.#options.retryMs)
  }
}

/** The topics that are published. */
export const topics = {
  /** Above the topics of all the organization's Sessions. */
  organization: (organizationId: string) => `s/${organizationId}`,
  /** The Session's row, Runs or log changed. */
  session: (organizationId: string, sessionId: string) => `s/${organizationId}/${sessionId}`,
  /** Whoever executes the Session's Run should look at what is asked of it. */
  control: (organizationId: string, sessionId: string) => `c/${organizationId}/${sessionId}`,
  /** A Run waits for a worker. */
  queue: 'q',
  /** A lease ended, or a sandbox lost its lease. */
  leases: 'l',
} as const
