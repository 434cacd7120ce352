import type { Credential } from './call-options.ts'
import type { Hooks } from './hooks.ts'
import { type OperationCalls, operationCalls } from './operation-calls.ts'
import { defaultPlatform, type Platform } from './platform.ts'
import { defaultRetryPolicy, type RetryPolicy } from './retry.ts'
import { Transport } from './transport.ts'

export interface ClientOptions {
  /** Origin of the service, with a path prefix if a proxy adds one. */
  readonly baseUrl: string | URL
  /** Origin of the account service, for the operations that it answers. Default: `baseUrl`. */
  readonly authUrl?: string | URL
  readonly credential: Credential
  /** Replaces parts of the platform, for example `fetch` in a test. */
  readonly platform?: Partial<Platform>
  readonly retry?: Partial<RetryPolicy>
  /** Limit for one attempt of one call, body included. Streams have a watchdog instead. Default 60 s. */
  readonly requestTimeoutMs?: number
  /** Called around each attempt, to log and trace. */
  readonly hooks?: Hooks
}

export interface BerthClient extends OperationCalls {
  /** The platform that this client uses. */
  readonly platform: Platform
}

/**
 * Creates a client of one deployment. It retries a call, within limits, after a 429, 502, 503 or 504 and after a broken
 * connection. Every write that it repeats carries an id chosen by the caller, so that is safe.
 *
 * @throws TypeError if `baseUrl` is not a URL
 */
export function createClient(options: ClientOptions): BerthClient {
  const platform = { ...defaultPlatform, ...options.platform }
  const transport = new Transport({
    baseUrl: new URL(options.baseUrl),
    credential: options.credential,
    platform,
    retry: { ...defaultRetryPolicy, ...options.retry },
    requestTimeoutMs: options.requestTimeoutMs ?? 60_000,
    hooks: options.hooks,
    ...(options.authUrl !== undefined && { authUrl: new URL(options.authUrl) }),
  })
  return { ...operationCalls(transport), platform }
}
