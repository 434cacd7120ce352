/** One attempt of a call. The same object is given to every hook of the attempt, so it can key a `WeakMap` of spans. */
export interface Attempt {
  /** The operation's id, if the call names one. */
  readonly operation: string | undefined
  readonly method: string
  readonly url: string
  /** Counted from 1. */
  readonly attempt: number
}

/**
 * Functions that the client calls around each attempt, to log and trace. They are called in order and not awaited; an
 * error that one of them throws ends the call. None of them sees a credential.
 */
export interface Hooks {
  /** Before a request is sent. It may add headers, such as `traceparent`. */
  onRequest?(attempt: Attempt, headers: Headers): void
  /** When the head of a response has arrived, of whichever status. */
  onResponse?(
    attempt: Attempt,
    seen: { readonly status: number; readonly requestId: string | null; readonly durationMs: number },
  ): void
  /** When no response arrived. */
  onFailure?(attempt: Attempt, seen: { readonly failure: unknown; readonly durationMs: number }): void
  /** Before the client waits to send a call again. */
  onRetry?(retry: Attempt & { readonly failure: unknown; readonly delayMs: number }): void
}
