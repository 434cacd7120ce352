/** The API server refused a request, answered something else, or did not answer in time. */
export class ClusterError extends Error {
  override readonly name = 'ClusterError'
  /** Status of the answer; null if there was none. */
  readonly status: number | null
  /** What the API server calls the refusal, such as `AlreadyExists`; null if it has not said. */
  readonly reason: string | null
  /** How long the API server wants to be left alone; null if it has not said. */
  readonly retryAfterMs: number | null

  constructor(
    message: string,
    about: {
      readonly status?: number
      readonly reason?: string | null
      readonly retryAfterMs?: number | null
      readonly cause?: unknown
    } = {},
  ) {
    super(message, { cause: about.cause })
    this.status = about.status ?? null
    this.reason = about.reason ?? null
    this.retryAfterMs = about.retryAfterMs ?? null
  }
}

/** The state that a watch was to continue from is no longer known: list again. */
export class WatchExpired extends Error {
  override readonly name = 'WatchExpired'
}
