import type { StoredEvent } from '@berth/core/sessions/streams/event-sql.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { until } from '../until.ts'
import { type OpenedStream, openStream } from './stream.ts'

/** The end of a stream: whole, with the `retry:` that it asked for, or cut off. */
export interface LogEnd {
  readonly whole: boolean
  readonly retryMs: number | null
}

/** One stream of a Session's Events, read as it arrives until it ends or the reader leaves. */
export class LogReader implements AsyncDisposable {
  readonly received: StoredEvent[] = []
  readonly ended: Promise<LogEnd>
  readonly #stream: OpenedStream
  #retryMs: number | null = null

  private constructor(stream: OpenedStream) {
    this.#stream = stream
    this.ended = this.#read().then(
      () => ({ whole: true, retryMs: this.#retryMs }),
      () => ({ whole: false, retryMs: this.#retryMs }),
    )
  }

  /**
   * Opens the stream.
   * @throws Error if the service refuses it
   */
  static async open(at: { url: string; apiKey: string }, key: SessionKey, after = 0): Promise<LogReader> {
    const stream = await openStream(`${at.url}/v1/sessions/${key.sessionId}/events/stream`, {
      authorization: `Bearer ${at.apiKey}`,
      'last-event-id': String(after),
    })
    if (stream.status !== 200) throw new Error(`the stream was answered ${stream.status}`)
    return new LogReader(stream)
  }

  get sequences(): number[] {
    return this.received.map(({ sequence }) => sequence)
  }

  /** Resolves once the Event with that sequence has arrived. */
  async reached(sequence: number, deadlineMs?: number): Promise<void> {
    await until(`event ${sequence}`, () => (this.received.at(-1)?.sequence ?? 0) >= sequence, deadlineMs)
  }

  async leave(): Promise<LogEnd> {
    await this.#stream[Symbol.asyncDispose]()
    return this.ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.leave()
  }

  async #read(): Promise<void> {
    for (let block = await this.#stream.next(); block !== undefined; block = await this.#stream.next()) {
      const [, sequence, envelope] = /^id: (\d+)\ndata: ([^\n]*)$/.exec(block) ?? []
      if (envelope !== undefined) this.received.push({ sequence: Number(sequence), envelope })
      const retryMs = /^retry: (\d+)$/.exec(block)?.[1]
      if (retryMs !== undefined) this.#retryMs = Number(retryMs)
    }
  }
}
