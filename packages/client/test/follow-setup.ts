import type { ServerResponse } from 'node:http'
import { createClient, type Event, type FollowOptions, followSession } from '../src/index.ts'
import { impatientPlatform, type ManualClock } from './manual-clock.ts'
import { type ApiScript, ScriptedApi, sendJson, sessionId } from './scripted-api.ts'

export interface Setup extends AsyncDisposable {
  readonly api: ScriptedApi
  readonly waits: readonly number[]
  follow(options?: Partial<FollowOptions>): AsyncGenerator<Event, void>
}

/** A scripted API and a follower of it; without a clock, waits before a retry pass at once. */
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

/** Ends the following at a sequence. */
export const until = (last: number) => (event: Event) => event.sequence >= last

/** Follows to the end. */
export async function sequences(events: AsyncIterable<Event>): Promise<number[]> {
  const seen: number[] = []
  for await (const event of events) seen.push(event.sequence)
  return seen
}

/** The sequences from `first` to `last`. */
export const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, i) => first + i)

export async function next(events: AsyncGenerator<Event, void>): Promise<number | undefined> {
  const { value } = await events.next()
  return value?.sequence
}

/** Answers a request itself, for a script's `page`. */
export function answer(response: ServerResponse, body: unknown): true {
  sendJson(response, 200, body)
  return true
}
