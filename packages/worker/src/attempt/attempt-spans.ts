import { nowMs, type RunOf, recordPast } from '@berth/platform/telemetry/observe.ts'

/** Tells how long this worker took to start the agent of an attempt, and how long the agent then worked. */
export class AttemptSpans {
  readonly #of: RunOf
  readonly #runtime: string
  readonly #beganMs = nowMs()
  #promptedMs: number | null = null

  constructor(of: RunOf, runtime: string) {
    this.#of = of
    this.#runtime = runtime
  }

  /** The agent gets a prompt. Only the first of a Run follows a start; the others are feedback. */
  prompted(): void {
    if (this.#promptedMs !== null) return
    const endedMs = nowMs()
    this.#promptedMs = endedMs
    recordPast(this.#of, 'start agent', {
      beganMs: this.#beganMs,
      endedMs,
      attributes: { 'berth.runtime': this.#runtime },
    })
  }

  /**
   * The attempt has ended.
   * @param begun the agent has had a prompt. Without one of this worker's it was an earlier worker's, perhaps read only now, so
   *   the time counts from this worker's beginning
   */
  ended(status: string, begun: boolean): void {
    if (this.#promptedMs === null && !begun) return
    recordPast(this.#of, 'prompt', {
      beganMs: this.#promptedMs ?? this.#beganMs,
      attributes: { 'berth.run.status': status, 'berth.taken_over': this.#promptedMs === null },
    })
  }
}
