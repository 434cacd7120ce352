import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurnOfTheLoop, setTimeout as sleep } from 'node:timers/promises'
import {
  type Client,
  type ClientConfig,
  default as pg,
  type QueryConfig,
  type QueryResult,
  type QueryResultRow,
} from 'pg'
import type { Logger } from 'pino'
import { backoffMs } from '../../kit/backoff.ts'
import type { Queryable } from './database.ts'
import { ANYTHING, channelOf, EVERYBODY, organizationTopic, parentOf } from './wakeup-channels.ts'
import { notifying, payloadsOf } from './wakeup-payloads.ts'

/**
 * Maximum number of topics that wait for a connection; beyond it one topic tells the others that anything may have
 * happened.
 */
const MAX_PENDING = 10_000
/** When a process stops, it waits this long for its last topics to go out. */
const FLUSH_MS = 1_000
/** The longest pause before another attempt to connect. */
const LONGEST_RETRY_MS = 5_000

/** Hints that something changed. They carry no data: a listener reads the database, so a lost hint costs only time. */
export interface Wakeups {
  /** False while hints may be lost; whoever polls then polls more often. Every listener is told when it changes. */
  readonly live: boolean
  /** Wakes the listeners in this process at once and those in others within milliseconds. Call it after the commit. */
  publish(...topics: string[]): void
  /**
   * Listens to a topic; a parent's hears those of its children (`parentOf`). Until the database knows of the subscription, hints
   * of other processes may be lost, and the listener is called once it does.
   * @param listener gets the topic, or null if hints may have been lost
   * @returns a function that ends the subscription
   */
  subscribe(topic: string, listener: (topic: string | null) => void): () => void
  /** Resolves once the database knows of the subscriptions to a topic, or cannot be told. */
  known(topic: string): Promise<void>
  /**
   * Runs a statement on the connection that listens. Locks of its session stand as long as this process is connected.
   * @returns null without a connection; `session` is another object after each loss
   */
  inSession?<T extends QueryResultRow>(query: QueryConfig): Promise<{ rows: T[]; session: object } | null>
}

type Listener = (topic: string | null) => void

interface Followed {
  readonly listeners: Set<Listener>
  /** True if it had no listener at the last look. */
  left: boolean
}

interface WakeupOptions {
  readonly connection: ClientConfig
  readonly log: Logger
  /** Returns the pause before the next attempt to connect after a number of failures in a row. */
  readonly pauseMs?: (failures: number) => number
  readonly askMs?: number
}

/**
 * Wake-ups between the processes of one database.
 *
 * A process listens only to the channels of the topics that it follows, so PostgreSQL sends it little else. A subscription
 * to a new channel is followed by a call of the listener once the database knows of it. Channels that nobody follows any
 * more linger for a while.
 *
 * Topics go out on a separate connection, one NOTIFY at a time; topics published meanwhile join the next one. NOTIFY
 * inside the transactions would serialise all commits on one lock. While the connection is down, topics wait for it,
 * because other processes may still be listening. When it is back, every listener here wakes, because hints may have
 * been lost. A periodic query detects a connection that died silently.
 */
export class PostgresWakeups implements Wakeups, AsyncDisposable {
  readonly #listeners = new Map<string, Set<Listener>>()
  /** Listeners by channel. A channel without listeners is left at the second look, as the next one may come soon. */
  readonly #followed = new Map<string, Followed>()
  /** Channels that the current connection listens to. */
  #heard = new Set<string>()
  #tuning: Promise<void> | null = null
  readonly #self = randomUUID().slice(0, 8)
  readonly #options: Required<WakeupOptions>
  readonly #pending = new Set<string>()
  #flushing: Promise<void> | null = null
  #retrying: NodeJS.Timeout | undefined
  /** Connections that were lost or refused since the last one that stood. */
  #failures = 0
  #asking: NodeJS.Timeout | undefined
  #client: Client | null = null
  /** The last statement on the connection. */
  #sent: Promise<unknown> = Promise.resolve()
  #connected = false
  #closed = false

  constructor(options: WakeupOptions) {
    this.#options = { pauseMs: failures => backoffMs(failures, 250, LONGEST_RETRY_MS), askMs: 15_000, ...options }
  }

  get live(): boolean {
    return this.#connected
  }

  /** Connects and keeps the connection up. It awaits the first attempt; later attempts run in the background. */
  async start(): Promise<void> {
    await this.#connect()
  }

  publish(...topics: string[]): void {
    for (const topic of topics) {
      this.#wake(topic)
      this.#wake(parentOf(topic), topic)
      this.#pending.add(topic)
    }
    if (this.#pending.size > MAX_PENDING) {
      this.#pending.clear()
      this.#pending.add(ANYTHING)
    }
    this.#flushSoon()
  }

  subscribe(topic: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set()
    this.#listeners.set(topic, listeners.add(listener))
    const channel = channelOf(topic)
    const followed = this.#followed.get(channel) ?? { listeners: new Set(), left: false }
    this.#followed.set(channel, followed)
    followed.listeners.add(listener)
    followed.left = false
    this.#tuneSoon()
    return () => {
      listeners.delete(listener)
      followed.listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(topic) === listeners) this.#listeners.delete(topic)
    }
  }

  async known(topic: string): Promise<void> {
    const channel = channelOf(topic)
    // One look at what is followed may have begun before the subscription.
    while (this.#connected && !this.#heard.has(channel) && this.#tuning !== null) await this.#tuning
  }

  async inSession<T extends QueryResultRow>(query: QueryConfig): Promise<{ rows: T[]; session: object } | null> {
    const client = this.#client
    if (client === null || !this.#connected) return null
    const { rows } = await this.#send<T>(client, query)
    return { rows, session: client }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    clearTimeout(this.#retrying)
    clearInterval(this.#asking)
    if (this.#flushing !== null) {
      const patience = new AbortController()
      await Promise.race([this.#flushing, sleep(FLUSH_MS, undefined, patience).catch(() => undefined)])
      patience.abort()
    }
    await this.#client?.end().catch(() => undefined)
  }

  /**
   * Sends a statement once the one before it has ended: the driver will queue none any more. It could send them together, but
   * then it would wait for a server that stands still before it closes the connection.
   */
  #send<T extends QueryResultRow>(client: Client, query: string | QueryConfig): Promise<QueryResult<T>> {
    const result = this.#sent.then(() => client.query<T>(query))
    this.#sent = result.catch(() => undefined)
    return result
  }

  /** Wakes the listeners of a topic; they are told which topic moved. */
  #wake(followed: string | undefined, moved = followed): void {
    if (followed === undefined || moved === undefined) return
    for (const listener of [...(this.#listeners.get(followed) ?? [])]) listener(moved)
  }

  /** Takes a notification: topics that its sender published, one a line. */
  #receive(channel: string, payload: string): void {
    const [sender, ...topics] = payload.split('\n')
    if (sender === this.#self) return
    for (const topic of topics) {
      if (topic === ANYTHING) {
        this.#wakeAll()
        continue
      }
      // The channel says for whom the topic was sent: a process may listen to the one of its parent as well. A release
      // before this one sends everything to everybody.
      const parent = parentOf(topic)
      if (channel === EVERYBODY || channel === channelOf(topic)) this.#wake(topic)
      if (parent !== undefined && (channel === EVERYBODY || channel === channelOf(parent))) this.#wake(parent, topic)
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
        await this.#send(client, notifying(payloadsOf(this.#self, topics)))
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

  #tuneSoon(): void {
    const client = this.#client
    if (client === null || !this.#connected || this.#closed) return
    this.#tuning ??= nextTurnOfTheLoop()
      .then(() => this.#tune(client))
      .then(added => {
        for (const listener of added) listener(null)
      })
      .catch(cause => this.#lost(client, cause))
      .finally(() => {
        this.#tuning = null
        if (this.#isOutOfTune()) this.#tuneSoon()
      })
  }

  #isOutOfTune(): boolean {
    return this.#heard.size !== this.#followed.size || [...this.#followed.keys()].some(name => !this.#heard.has(name))
  }

  /**
   * Listens to the channels that are followed, and to no others.
   * @returns the listeners of the channels that are new
   */
  async #tune(client: Client): Promise<readonly Listener[]> {
    const wanted = new Set(this.#followed.keys())
    const added = [...wanted].filter(name => !this.#heard.has(name))
    const left = [...this.#heard].filter(name => !wanted.has(name))
    const statements = [...added.map(name => `listen ${name}`), ...left.map(name => `unlisten ${name}`)]
    if (statements.length > 0) await this.#send(client, statements.join(';'))
    if (this.#client === client) this.#heard = wanted
    return added.flatMap(name => [...(this.#followed.get(name)?.listeners ?? [])])
  }

  /** Leaves channels that had no listener at the last call either. */
  #leaveChannels(): void {
    for (const [name, followed] of this.#followed) {
      if (followed.listeners.size > 0) continue
      if (followed.left) this.#followed.delete(name)
      followed.left = true
    }
    this.#tuneSoon()
  }

  async #connect(): Promise<void> {
    const client = new pg.Client({ ...this.#options.connection, keepAlive: true })
    this.#client = client
    this.#sent = Promise.resolve()
    client.on('error', cause => this.#lost(client, cause))
    client.on('end', () => this.#lost(client, new Error('connection ended')))
    client.on('notification', ({ channel, payload }) => this.#receive(channel, payload ?? ''))
    try {
      await client.connect()
      // PostgreSQL commits one NOTIFY at a time. A hint need not outlive a crash, so none waits for the disk.
      await client.query(`set synchronous_commit = off; listen ${EVERYBODY}`)
      this.#heard = new Set()
      await this.#tune(client)
    } catch (cause) {
      this.#lost(client, cause)
      return
    }
    if (this.#client !== client || this.#closed) return
    this.#connected = true
    this.#failures = 0
    this.#asking = setInterval(() => {
      this.#leaveChannels()
      this.#flushing ??= this.#flush()
    }, this.#options.askMs)
    this.#wakeAll()
    this.#flushSoon()
    this.#tuneSoon()
  }

  #lost(client: Client, cause: unknown): void {
    if (this.#client !== client || this.#closed) return
    this.#client = null
    clearInterval(this.#asking)
    if (this.#connected)
      this.#options.log.warn({ err: cause }, 'wake-ups lost their connection; polling until it is back')
    const wasLive = this.#connected
    this.#connected = false
    client.end().catch(() => undefined)
    this.#failures += 1
    this.#retrying = setTimeout(() => {
      this.#connect().catch(() => undefined)
    }, this.#options.pauseMs(this.#failures))
    // Whoever polls does it more often from now on.
    if (wasLive) this.#wakeAll()
  }
}

/** Publishes topics from a process that is no part of the service, such as an operator's command. */
export async function announce(db: Queryable, ...topics: string[]): Promise<void> {
  await db.query(notifying(payloadsOf('', topics)))
}

/** Names of the topics of wake-ups. */
export const topics = {
  /** Hears the topics of all the organization's Sessions; nothing is published to it itself. */
  organization: organizationTopic,
  /** The Session's row, Runs or log changed. */
  session: (organizationId: string, sessionId: string) => `s/${organizationId}/${sessionId}`,
  /** Parent of the topics of a person's marks. */
  marks: (organizationId: string, personId: string) => `m/${organizationId}/${personId}`,
  /** A person has pinned a Session, read more of it, or viewed a file of its changes. */
  mark: (organizationId: string, personId: string, sessionId: string) => `m/${organizationId}/${personId}/${sessionId}`,
  /** The worker that executes the Session's Run should look for new requests. */
  control: (organizationId: string, sessionId: string) => `c/${organizationId}/${sessionId}`,
  /** The preview of the Session's Run changed. */
  preview: (organizationId: string, sessionId: string) => `p/${organizationId}/${sessionId}`,
  /** A review of the Session's changes was answered. */
  review: (organizationId: string, sessionId: string) => `v/${organizationId}/${sessionId}`,
  /** A look at the Session's files was answered. */
  files: (organizationId: string, sessionId: string) => `f/${organizationId}/${sessionId}`,
  /** A host was allowed for an environment: connections may wait for it. */
  hosts: (organizationId: string, environmentId: string) => `e/${organizationId}/${environmentId}`,
  /** A Run waits for a worker. */
  queue: 'q',
  /** A review, a Publication, a Merge or a look at files waits for a worker. */
  deliveries: 'd',
  /** An endpoint of webhooks came or went, or deliveries were queued outside the log. */
  webhooks: 'w',
  /** A trigger has taken a delivery. */
  triggers: 'g',
  /** A browser is pushed to from now on, or a test is to be pushed. */
  pushes: 'u',
  /** A terminal is asked for, or may go on. */
  terminals: 't',
  /** The terminal was started, or ended. */
  terminal: (id: string) => `t/${id}`,
  /** A branch of some repository moved. */
  heads: 'h',
  /** A lease ended, or a sandbox lost its lease. */
  leases: 'l',
} as const
