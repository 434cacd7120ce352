import type { ServerResponse } from 'node:http'
import { createClient, type Event, type FollowOptions, followSession, type Platform } from '../src/index.ts'
import { impatientPlatform, type ManualClock } from './manual-clock.ts'
import { type ApiScript, ScriptedApi, sendJson, sessionId } from './scripted-api.ts'

export interface Setup extends AsyncDisposable {
  readonly api: ScriptedApi
  readonly waits: readonly number[]
  follow(options?: Partial<FollowOptions>): AsyncGenerator<Event, void>
}

/** Starts a scripted API and a follower. Without a clock, waits before a retry pass at once. */
export async function start(script: ApiScript, clock?: ManualClock, realWaits = [2_000]): Promise<Setup> {
  const api = await ScriptedApi.start(script)
  const impatient = impatientPlatform(...realWaits)
  const platform =
    clock === undefined ? impatient.platform : { now: clock.now, sleep: clock.sleep, random: clock.random }
  const client = createClient({ baseUrl: api.url, credential: 'key', platform })
  return {
    api,
    waits: impatient.waits,
    follow: options => followSession({ client, sessionId, ...options }),
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  }
}

/** Stops the follower at a sequence. */
export const until = (last: number) => (event: Event) => event.sequence >= last

/** Follows to the end and returns the sequences. */
export async function sequences(events: AsyncIterable<Event>): Promise<number[]> {
  const seen: number[] = []
  for await (const event of events) seen.push(event.sequence)
  return seen
}

/** Returns the sequences from `first` to `last`. */
export const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, i) => first + i)

export async function next(events: AsyncGenerator<Event, void>): Promise<number | undefined> {
  const { value } = await events.next()
  return value?.sequence
}

/** Sends a response to a request, for a script's `page`. */
export function answer(response: ServerResponse, body: unknown): true {
  sendJson(response, 200, body)
  return true
}

/** A stream whose reader is seen: it asks for a chunk only when it has taken the one before. */
export class PulledStream {
  #requested = Promise.withResolvers<(text: string) => void>()
  opened = 0

  /** Follows this stream; its pages are empty. */
  follow(
    time: Pick<Platform, 'now' | 'sleep' | 'random'>,
    options: Partial<FollowOptions>,
  ): AsyncGenerator<Event, void> {
    const { now, sleep, random } = time
    const fetch = async (input: string | URL | Request) =>
      String(input).includes('/stream')
        ? new Response(this.#open(), { headers: { 'content-type': 'text/event-stream' } })
        : Response.json({ events: [], lastSequence: 0 })
    const platform = { now, sleep, random, fetch }
    const client = createClient({ baseUrl: 'http://127.0.0.1', credential: 'key', platform })
    return followSession({ client, sessionId, ...options })
  }

  /** Resolves when the reader asks for a chunk. */
  async requested(): Promise<void> {
    await this.#requested.promise
  }

  /** Gives the reader a chunk as soon as it asks for one. */
  async send(text: string): Promise<void> {
    const give = await this.#requested.promise
    this.#requested = Promise.withResolvers()
    give(text)
  }

  #open(): ReadableStream<Uint8Array> {
    this.opened += 1
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>) =>
      new Promise<void>(resolve => {
        this.#requested.resolve(text => {
          controller.enqueue(new TextEncoder().encode(text))
          resolve()
        })
      })
    return new ReadableStream({ pull }, { highWaterMark: 0 })
  }
}
