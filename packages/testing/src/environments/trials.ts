import type { EnvironmentTrial, Event } from '@berth/contract'
import type { Answer, Api } from '../api/api.ts'
import { openStream } from '../events/stream.ts'

type Answered = Promise<Answer<{ trial: EnvironmentTrial }>>

/** A frame of a trial's stream. */
export type TrialFrame =
  | { readonly kind: 'trial'; readonly trial: EnvironmentTrial }
  | { readonly kind: 'event'; readonly event: Event }

/** The operations on trials, as one caller calls them. */
export class Trials {
  readonly #api: Api

  constructor(api: Api) {
    this.#api = api
  }

  start(environmentId: string, body: object = {}): Answered {
    return this.#api.call('POST', this.#path(environmentId), body)
  }

  read({ environmentId, id }: Pick<EnvironmentTrial, 'environmentId' | 'id'>): Answered {
    return this.#api.get(`${this.#path(environmentId)}/${id}`)
  }

  stop({ environmentId, id }: Pick<EnvironmentTrial, 'environmentId' | 'id'>): Answered {
    return this.#api.call('DELETE', `${this.#path(environmentId)}/${id}`)
  }

  /** Starts a trial that the service must accept. */
  async begin(environmentId: string, body: object = {}): Promise<EnvironmentTrial> {
    const answer = await this.start(environmentId, body)
    if (answer.status !== 201) throw new Error(`the trial answered ${answer.status} ${answer.text}`)
    return answer.body.trial
  }

  /** Yields the frames of a trial's stream until it ends, or the reader leaves. */
  async *follow({ environmentId, id }: EnvironmentTrial, after = 0): AsyncGenerator<TrialFrame, void> {
    const url = `${this.#api.url}${this.#path(environmentId)}/${id}/stream?after=${after}`
    await using stream = await openStream(url, { authorization: `Bearer ${this.#api.key}` })
    if (stream.status !== 200) throw new Error(`the stream answered ${stream.status}`)
    for (;;) {
      const [frame] = await stream.take(1)
      if (frame === undefined) return
      if (frame.data !== undefined) yield JSON.parse(frame.data)
    }
  }

  /** Waits until a trial has ended, and returns it with the Events of its stream. */
  async ended(
    trial: EnvironmentTrial,
  ): Promise<{ readonly trial: EnvironmentTrial; readonly events: readonly Event[] }> {
    let last = trial
    const events: Event[] = []
    for await (const frame of this.follow(trial)) {
      if (frame.kind === 'trial') last = frame.trial
      else events.push(frame.event)
    }
    return { trial: last, events }
  }

  #path(environmentId: string): string {
    return `/v1/environments/${environmentId}/trials`
  }
}
