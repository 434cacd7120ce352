import { until } from '../until.ts'
import { type OpenedStream, openStream } from './stream.ts'

interface Notice {
  readonly cursor: number
  readonly data: {
    readonly sessionId?: string
    readonly lastEventSequence?: number
    readonly updatedAt?: string
  }
}

/** Shorter than the slow poll: a notice that only the poll delivers must fail the test. */
const DEADLINE_MS = 60_000

/** One stream of the feed of changed Sessions, read as it arrives. */
export class FeedReader implements AsyncDisposable {
  readonly notices: Notice[] = []
  /** The first cursor. It precedes every notice if the feed starts now. */
  readonly opened: Promise<number>
  readonly wasReset: Promise<void>
  resets = 0
  readonly #stream: OpenedStream
  readonly #ended: Promise<void>

  private constructor(stream: OpenedStream) {
    this.#stream = stream
    const opened = Promise.withResolvers<number>()
    const wasReset = Promise.withResolvers<void>()
    this.opened = opened.promise
    this.wasReset = wasReset.promise
    this.#ended = this.#read(opened.resolve, wasReset.resolve).catch(() => undefined)
  }

  static async open(at: { url: string; apiKey: string }, cursor?: number): Promise<FeedReader> {
    const stream = await openStream(`${at.url}/v1/sessions/stream`, {
      authorization: `Bearer ${at.apiKey}`,
      ...(cursor !== undefined && { 'last-event-id': String(cursor) }),
    })
    if (stream.status !== 200) throw new Error(`the feed was answered ${stream.status}`)
    return new FeedReader(stream)
  }

  get sessionIds(): (string | undefined)[] {
    return this.notices.map(({ data }) => data.sessionId)
  }

  /** Resolves once a notice has shown the Session at that sequence or later. */
  async reached(sessionId: string, sequence: number): Promise<void> {
    const shows = ({ data }: Notice) => data.sessionId === sessionId && (data.lastEventSequence ?? -1) >= sequence
    await until(`${sessionId} at ${sequence}`, () => this.notices.some(shows), DEADLINE_MS)
  }

  async leave(): Promise<void> {
    await this.#stream[Symbol.asyncDispose]()
    await this.#ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.leave()
  }

  async #read(opened: (cursor: number) => void, wasReset: () => void): Promise<void> {
    for (let block = await this.#stream.next(); block !== undefined; block = await this.#stream.next()) {
      const [, cursor, json] = /^id: (\d+)(?:\ndata: (.*))?$/.exec(block) ?? []
      if (cursor !== undefined) opened(Number(cursor))
      if (json === undefined) continue
      const data = JSON.parse(json)
      if (data.reset === true) {
        this.resets += 1
        wasReset()
      } else {
        this.notices.push({ cursor: Number(cursor), data })
      }
    }
  }
}
