import { randomUUID } from 'node:crypto'
import { type Client, type ClientConfig, default as pg } from 'pg'

/** Wake-ups as they were: one channel, which every process listens to; topics gather while a NOTIFY is in flight. */
export class OneChannelWakeups {
  readonly #listeners = new Map<string, (topic: string | null) => void>()
  readonly #self = randomUUID().slice(0, 8)
  readonly #client: Client
  readonly #pending = new Set<string>()
  #flushing = false

  constructor(connection: ClientConfig) {
    this.#client = new pg.Client(connection)
  }

  async start(): Promise<void> {
    this.#client.on('notification', ({ payload }) => {
      const [sender, ...topics] = (payload ?? '').split('\n')
      if (sender === this.#self) return
      for (const topic of topics) this.#listeners.get(topic)?.(topic)
    })
    await this.#client.connect()
    await this.#client.query('listen one_channel')
  }

  publish(topic: string): void {
    this.#pending.add(topic)
    if (!this.#flushing) void this.#flush()
  }

  subscribe(topic: string, listener: (topic: string | null) => void): void {
    this.#listeners.set(topic, listener)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end()
  }

  async #flush(): Promise<void> {
    this.#flushing = true
    await new Promise(setImmediate)
    while (this.#pending.size > 0) {
      const payload = [this.#self, ...this.#pending].join('\n')
      this.#pending.clear()
      // The end of a measurement cuts off what is under way.
      await this.#client.query('select pg_notify($1, $2)', ['one_channel', payload]).catch(() => undefined)
    }
    this.#flushing = false
  }
}
