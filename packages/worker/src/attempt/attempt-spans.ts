import { nowMs, type RunOf, tellPast } from '@berth/platform/telemetry/observe.ts'

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
    tellPast(this.#of, 'start agent', {
      beganMs: this.#beganMs,
      endedMs,
      attributes: { 'berth.runtime': this.#runtime },
    })
  }

  /**
   * The attempt has ended.
   * @param takenOver the agent had its prompt from an earlier worker, so its time counts from this one's beginning
   */
  ended(status: string, takenOver: boolean): void {
    if (this.#promptedMs === null && !takenOver) return
    tellPast(this.#of, 'prompt', {
      beganMs: this.#promptedMs ?? this.#beganMs,
      attributes: { 'berth.run.status': status, 'berth.taken_over': takenOver },
    })
  }
}
