import type { RetryPolicy } from './retry.ts'

/**
 * A bearer credential, or a function that returns one. The function is called for every request and may cache. `renew`
 * is true once after the service has refused the last credential. Errors that it throws reach the caller, except that a
 * `BerthConnectionError` is retried like a lost request.
 */
export type Credential = string | ((wanted: { readonly renew: boolean }) => string | Promise<string>)

/** Options of a call that opens a stream for a follower, which limits the wait and paces its attempts by itself. */
export const followerOptions = { retry: { attempts: 1 }, timeoutMs: Number.POSITIVE_INFINITY } as const

/** Options of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** Limit for one attempt, body included, in ms. Default: the client's `requestTimeoutMs`. */
  readonly timeoutMs?: number | undefined
  /** Replaces parts of the client's policy. */
  readonly retry?: Partial<RetryPolicy> | undefined
  /** Headers to send besides those of the operation. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Calls with this credential in place of the client's. */
  readonly credential?: Credential | undefined
}
